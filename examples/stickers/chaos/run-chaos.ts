// Many ask for a sticker each while worker processes and their supervisor are killed by dice, PostgreSQL crashes and one of ten calls fails. Then every user
// must have got what is promised. `npm run chaos -- --programme stickers`.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createBot } from "../bot.js";
import { createParts } from "../parts.js";
import { startSimulation } from "../run/simulation.js";
import { WorkerProcesses } from "../run/worker-processes.js";
import { readSettings } from "../settings.js";
import { type Update, userSays } from "../simulators/updates.js";
import { startWebhookServer } from "../webhook-server.js";
import { type Checked, checkFates, type Scene, undecided } from "./check-fates.js";
import { asked, type StrikeOptions, type Strikes, strikeUntilEnded } from "./strikes.js";

export interface ChaosOptions extends StrikeOptions {
  readonly databaseUrl: string;
  readonly requests: number;
}

export interface ChaosResult extends Checked {
  readonly strikes: Strikes;
}

const COMMUNITIES = ["cats", "memes", "office"] as const;
const FAIL_PERCENT = 10;
const LOOK_MS = 250;

export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { databaseUrl, requests, say = () => {}, signal } = options;
  const folder = await mkdtemp(join(tmpdir(), "stickers-chaos-"));
  const simulation = await startSimulation({}, { latencyMs: [30, 200], perSecond: 1_000, inFlightMax: 200 });
  const environment = { ...simulation.environment, DATABASE_URL: databaseUrl, STICKERS_FOLDER: folder };
  const parts = createParts(readSettings(environment));
  const workers = new WorkerProcesses(environment, { children: 2 });
  let webhook: Awaited<ReturnType<typeof startWebhookServer>> | undefined;
  try {
    await parts.client.migrate();
    await parts.people.createTable();
    await parts.catalogue.createTable();
    const { secret } = parts.settings.telegram;
    webhook = await startWebhookServer(createBot(parts, parts.settings.telegram), secret);
    await parts.api.setWebhook(webhook.url, { secret_token: secret });
    const users = Array.from({ length: requests }, (_, n) => n + 1);
    const scene: Scene = {
      parts,
      users,
      telegram: simulation.telegram!,
      gemini: simulation.gemini!,
      pixian: simulation.pixian!,
    };
    for (const service of [scene.gemini, scene.pixian]) service.weather.failPercent = FAIL_PERCENT;
    workers.start();
    // They ask while it goes on: the webhook meets crashes, too.
    const [{ strikes, times }] = await Promise.all([
      strikeUntilEnded(parts, workers, requests, options),
      allAsk(scene, signal).then(() => say(`${requests} users have asked`)),
    ]);
    say(`all jobs have ended; killed or crashed: ${Object.values(strikes).join(", ")}`);
    for (let left = users; left.length > 0; left = await asked(() => undecided(scene), signal)) {
      signal?.throwIfAborted();
      await sleep(LOOK_MS);
    }
    say("every user has an answer; checking");
    await workers.stop();
    return { ...(await checkFates(scene, times)), strikes };
  } finally {
    await workers.stop();
    await webhook?.stop();
    await parts.close();
    await simulation.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function allAsk({ telegram, users }: Scene, signal: AbortSignal | undefined): Promise<void> {
  for (const user of users)
    for (const text of [`/start ${COMMUNITIES[user % COMMUNITIES.length]}`, wordsOf(user)])
      await bring(telegram, userSays(user, text), signal);
}

/** As Telegram does: an update that is not answered with 200 is brought again. */
async function bring(telegram: Scene["telegram"], update: Update, signal: AbortSignal | undefined): Promise<void> {
  for (let tries = 1; (await telegram.userWrites(update).catch(() => 0)) !== 200; tries++) {
    signal?.throwIfAborted();
    if (tries > 200) throw new Error(`The update ${update.update_id} was not taken.`);
    await sleep(LOOK_MS);
  }
}

/** No two users ask for the same, and none for the beginning of another's. */
export const wordsOf = (user: number): string => `a happy fox for user ${user}`;
