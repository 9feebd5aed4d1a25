// Many ask for a sticker each while worker processes and their supervisor are killed by dice and one of ten calls fails. Then every user must have got what is
// promised. `npm run chaos -- --programme stickers`.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createBot } from "../bot.js";
import { createParts } from "../parts.js";
import { startSimulation } from "../run/simulation.js";
import { WorkerProcesses } from "../run/worker-processes.js";
import { readSettings } from "../settings.js";
import { userSays } from "../simulators/updates.js";
import { startWebhookServer } from "../webhook-server.js";
import { type Checked, checkFates, type Scene, stickerJobs, undecided } from "./check-fates.js";

export interface ChaosOptions {
  readonly databaseUrl: string;
  readonly requests: number;
  /** From 0 to 1: the dice of whom to kill, and when. */
  readonly random: () => number;
  readonly say?: (text: string) => void;
  readonly signal?: AbortSignal;
}

export interface ChaosResult extends Checked {
  readonly kills: { readonly children: number; readonly supervisors: number };
}

const COMMUNITIES = ["cats", "memes", "office"] as const;
const FAIL_PERCENT = 10;
/** Between two kills so many requests end, so that there is progress, however slow the machine. */
const ENDED_BETWEEN_KILLS = { least: 6, most: 14 } as const;
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
    await allAsk(scene, signal);
    say(`${requests} users have asked`);
    for (const service of [scene.gemini, scene.pixian]) service.weather.failPercent = FAIL_PERCENT;
    workers.start();
    const kills = await killWhileDrawing(scene, workers, options);
    say(`all jobs have ended; killed: ${kills.children} workers, ${kills.supervisors} supervisors`);
    for (let left = users; left.length > 0; left = await undecided(scene)) {
      signal?.throwIfAborted();
      await sleep(LOOK_MS);
    }
    say("every user has an answer; checking");
    await workers.stop();
    return { ...(await checkFates(scene)), kills };
  } finally {
    await workers.stop();
    await webhook?.stop();
    await parts.close();
    await simulation.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function allAsk({ telegram, users }: Scene, signal: AbortSignal | undefined): Promise<void> {
  for (const user of users) {
    signal?.throwIfAborted();
    for (const text of [`/start ${COMMUNITIES[user % COMMUNITIES.length]}`, wordsOf(user)])
      if ((await telegram.userWrites(userSays(user, text))) !== 200) throw new Error(`"${text}" was not taken.`);
  }
}

/** No two users ask for the same, and none for the beginning of another's. */
export const wordsOf = (user: number): string => `a happy fox for user ${user}`;

async function killWhileDrawing(
  { parts, users }: Scene,
  workers: WorkerProcesses,
  { random, say = () => {}, signal }: ChaosOptions,
): Promise<ChaosResult["kills"]> {
  const { least, most } = ENDED_BETWEEN_KILLS;
  const kills = { children: 0, supervisors: 0 };
  const next = (from: number) => from + least + Math.floor(random() * (most - least + 1));
  for (let killAt = next(0); ; ) {
    signal?.throwIfAborted();
    const ended = (await stickerJobs(parts.client)).filter(({ completedAt }) => completedAt).length;
    if (ended === users.length) return kills;
    // Each third one is a supervisor: both are killed in the shortest of runs.
    const isSupervisor = (kills.children + kills.supervisors) % 3 === 1;
    const killed = ended < killAt ? undefined : isSupervisor ? workers.killSupervisor() : await workers.kill();
    if (killed !== undefined) {
      kills[isSupervisor ? "supervisors" : "children"]++;
      say(`${ended} ended; killed ${isSupervisor ? "the supervisor" : "a worker"}, process ${killed}`);
      killAt = next(ended);
    }
    await sleep(LOOK_MS);
  }
}
