// The whole bot on simulated services: webhook, client, and workers in this process or in processes of their own.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createWorker, silentLogger, type Worker } from "fairmill";
import { onTestFinished } from "vitest";
import { createBot } from "../../examples/stickers/bot.js";
import { apologyHandler, stickerHandler } from "../../examples/stickers/make-sticker.js";
import { packHandlers } from "../../examples/stickers/packs.js";
import { createParts, type Parts } from "../../examples/stickers/parts.js";
import { refundHandler } from "../../examples/stickers/refunds.js";
import { type Simulation, startSimulation } from "../../examples/stickers/run/simulation.js";
import { WorkerProcesses } from "../../examples/stickers/run/worker-processes.js";
import { readSettings } from "../../examples/stickers/settings.js";
import type { GeminiSimulator } from "../../examples/stickers/simulators/gemini.js";
import type { PixianSimulator } from "../../examples/stickers/simulators/pixian.js";
import type { ChatMessage, TelegramSimulator } from "../../examples/stickers/simulators/telegram.js";
import { type Update, userSays } from "../../examples/stickers/simulators/updates.js";
import { sweepHandler } from "../../examples/stickers/sweep-files.js";
import { startWebhookServer, type WebhookServer } from "../../examples/stickers/webhook-server.js";
import { endAfterTest } from "../support/leftovers.js";
import { waitUntil } from "../support/wait.js";

const PATIENCE_MS = 90_000;

export interface BotRig {
  readonly parts: Parts;
  readonly telegram: TelegramSimulator;
  readonly gemini: GeminiSimulator;
  readonly pixian: PixianSimulator;
  readonly webhook: WebhookServer;
  /** Brings the update to the bot; the status that Telegram sees. */
  brings(update: Update): Promise<number>;
  startWorker(): Promise<void>;
  /** A supervisor with so many children. */
  startProcesses(children: number): WorkerProcesses;
  /** Joins a community and is given `credits` besides the three of a newcomer. */
  joins(user: number, community?: string): Promise<void>;
  chat(user: number): readonly ChatMessage[];
  stickers(user: number): readonly ChatMessage[];
  /** The n-th sticker of a chat. */
  sticker(user: number, n?: number): Promise<ChatMessage>;
  /** A message of a chat that contains this. */
  text(user: number, part: string): Promise<ChatMessage>;
  balance(user: number): Promise<{ available: number; reserved: number }>;
}

let last: (() => Promise<void>) | undefined;
// Before the database is looked at: connections and workers are gone then.
endAfterTest(async () => {
  await last?.();
  last = undefined;
});

export async function startBot(databaseUrl: string): Promise<BotRig> {
  const folder = await mkdtemp(join(tmpdir(), "stickers-"));
  const simulation: Simulation = await startSimulation({}, { latencyMs: [0, 5], perSecond: 1_000, inFlightMax: 100 });
  const environment = { ...simulation.environment, DATABASE_URL: databaseUrl, STICKERS_FOLDER: folder };
  const parts = createParts(readSettings(environment));
  await parts.people.createTable();
  await parts.catalogue.createTable();
  const webhook = await startWebhookServer(createBot(parts, parts.settings.telegram), parts.settings.telegram.secret);
  await parts.api.setWebhook(webhook.url, { secret_token: parts.settings.telegram.secret });
  const workers: Worker[] = [];
  const processes: WorkerProcesses[] = [];
  last = async () => {
    await Promise.all([...workers, ...processes].map((one) => one.stop()));
    await webhook.stop();
    await parts.close();
    await simulation.stop();
  };
  onTestFinished(() => rm(folder, { recursive: true, force: true }));

  const telegram = simulation.telegram!;
  const chat = (user: number) => telegram.chats.get(String(user)) ?? [];
  const stickers = (user: number) => chat(user).filter((message) => message.sticker);
  return {
    parts,
    telegram,
    gemini: simulation.gemini!,
    pixian: simulation.pixian!,
    webhook,
    brings: (update) => telegram.userWrites(update),
    startWorker: async () => {
      const handlers = [
        ...[stickerHandler(parts), apologyHandler(parts), refundHandler(parts), sweepHandler(parts)],
        ...packHandlers(parts),
      ];
      const worker = createWorker({ databaseUrl, handlers, channels: [parts.telegram], logger: silentLogger });
      workers.push(worker);
      await worker.start();
    },
    startProcesses: (children) => {
      const started = new WorkerProcesses(environment, { children });
      processes.push(started);
      started.start();
      return started;
    },
    joins: async (user, community = "cats") => {
      if ((await telegram.userWrites(userSays(user, `/start ${community}`))) !== 200) throw new Error("not taken");
    },
    chat,
    stickers,
    sticker: (user, n = 1) => waitUntil(`sticker ${n} in chat ${user}`, () => stickers(user)[n - 1], PATIENCE_MS),
    text: (user, part) =>
      waitUntil(`"${part}" in chat ${user}`, () => chat(user).find(({ text }) => text?.includes(part)), PATIENCE_MS),
    balance: (user) => parts.client.credits.balance(`telegram-${user}`),
  };
}
