// Many users ask at the same moment, on services with realistic latencies: how long do they wait, who is served, and what is the bottleneck?
// `npm run bench -- --only users`.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createBot } from "../bot.js";
import { stickerJobs } from "../chaos/check-fates.js";
import { createParts, type Parts } from "../parts.js";
import { startSimulation } from "../run/simulation.js";
import { WorkerProcesses } from "../run/worker-processes.js";
import { readSettings } from "../settings.js";
import type { TelegramSimulator } from "../simulators/telegram.js";
import { startUpdatesAt, userSays } from "../simulators/updates.js";
import { limitTelegram } from "../telegram-channel.js";
import { startWebhookServer } from "../webhook-server.js";
import { Usage, type UsageRow } from "./usage.js";

export interface CrowdOptions {
  readonly databaseUrl: string;
  readonly users: number;
  readonly signal?: AbortSignal;
}

/** One request: by whose user, and after how many seconds it was begun and its sticker was in the chat. */
export interface Answered {
  readonly community: string;
  readonly begunAfter: number;
  readonly arrivedAfter: number;
}

export interface CrowdResult {
  readonly answered: readonly Answered[];
  readonly usage: readonly UsageRow[];
  readonly seconds: number;
  /** Users who got no sticker. */
  readonly left: number;
}

/** Seven of ten users are of one community. */
export const COMMUNITIES = [
  "memes",
  "memes",
  "cats",
  "memes",
  "memes",
  "office",
  "memes",
  "memes",
  "chess",
  "memes",
] as const;
export const CHILDREN = 3;
const LOOK_MS = 500;
const PATIENCE_MS = 300_000;

export async function runCrowd({ databaseUrl, users: count, signal }: CrowdOptions): Promise<CrowdResult> {
  const folder = await mkdtemp(join(tmpdir(), "stickers-crowd-"));
  const simulation = await startSimulation({});
  const environment = { ...simulation.environment, DATABASE_URL: databaseUrl, STICKERS_FOLDER: folder };
  const parts = createParts(readSettings(environment));
  const workers = new WorkerProcesses(environment, { children: CHILDREN });
  let webhook: Awaited<ReturnType<typeof startWebhookServer>> | undefined;
  try {
    await prepare(parts, count);
    const { secret } = parts.settings.telegram;
    webhook = await startWebhookServer(createBot(parts, parts.settings.telegram), secret);
    await parts.api.setWebhook(webhook.url, { secret_token: secret });
    workers.start();
    while ((await workers.children()).length < CHILDREN) await sleep(LOOK_MS, undefined, { signal });
    const usage = new Usage(parts, simulation, CHILDREN);
    const arrivals = arrivalsAt(simulation.telegram!);
    const asked = await allAsk(simulation.telegram!, count);
    const endMs = performance.now() + PATIENCE_MS;
    while (arrivals.size < count && performance.now() < endMs) {
      await sleep(LOOK_MS, undefined, { signal });
      await usage.look();
    }
    const [from, to] = [Math.min(...asked.values()), Math.max(...arrivals.values())];
    return {
      answered: await answers(parts, asked, arrivals),
      usage: usage.rows(from, to),
      seconds: (to - from) / 1_000,
      left: count - arrivals.size,
    };
  } finally {
    await workers.stop();
    await webhook?.stop();
    await parts.close();
    await simulation.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

const communityOf = (user: number): string => COMMUNITIES[user % COMMUNITIES.length]!;

/** They have joined before, and have a credit: what is measured is one request of each. */
async function prepare(parts: Parts, count: number): Promise<void> {
  const { client, people, catalogue, telegram } = parts;
  await client.migrate();
  await people.createTable();
  await catalogue.createTable();
  await limitTelegram(client, telegram);
  startUpdatesAt(0);
  for (let user = 1; user <= count; user++) {
    await people.join(`telegram-${user}`, communityOf(user));
    await client.credits.grant(`telegram-${user}`, 1, { idempotencyKey: `welcome-${user}` });
  }
}

/** By chat, when its sticker was there. */
function arrivalsAt(telegram: TelegramSimulator): ReadonlyMap<string, number> {
  const arrivals = new Map<string, number>();
  telegram.onMessage = (chat, { sticker, at }) => {
    if (sticker && !arrivals.has(chat)) arrivals.set(chat, at);
  };
  return arrivals;
}

/** By chat, when the user asked: all in the same moment. */
async function allAsk(telegram: TelegramSimulator, count: number): Promise<ReadonlyMap<string, number>> {
  const at = Date.now();
  const users = Array.from({ length: count }, (_, n) => n + 1);
  // As Telegram does: an update that is not answered with 200 is brought again.
  const bring = async (user: number) => {
    const update = userSays(user, `a happy fox for user ${user}`);
    while ((await telegram.userWrites(update).catch(() => 0)) !== 200) await sleep(LOOK_MS);
  };
  await Promise.all(users.map(bring));
  return new Map(users.map((user) => [`${user}`, at]));
}

async function answers(parts: Parts, asked: ReadonlyMap<string, number>, arrivals: ReadonlyMap<string, number>) {
  const begun = new Map((await stickerJobs(parts.client)).map((job) => [job.key, job.startedAt?.getTime()]));
  return [...asked].flatMap(([user, at]): Answered[] => {
    const [begunAt, arrivedAt] = [begun.get(`telegram-${user}`), arrivals.get(user)];
    if (begunAt === undefined || arrivedAt === undefined) return [];
    const community = communityOf(Number(user));
    return [{ community, begunAfter: (begunAt - at) / 1_000, arrivedAfter: (arrivedAt - at) / 1_000 }];
  });
}
