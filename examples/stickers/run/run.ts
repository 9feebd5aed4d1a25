// `npm start`: the bot with everything around it. Simulators for the services without keys, a supervisor with two worker processes, synthetic users of three
// communities, and keys to break it with.
import { existsSync } from "node:fs";
import { relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createBot } from "../bot.js";
import { makeSticker } from "../jobs.js";
import { limitPacks, PACK_SCHEDULE, schedulePacks } from "../packs.js";
import { createParts, type Parts } from "../parts.js";
import { readSettings, readWebhookPort } from "../settings.js";
import { startUpdatesAt } from "../simulators/updates.js";
import { scheduleSweep } from "../sweep-files.js";
import { limitTelegram } from "../telegram-channel.js";
import { startWebhookServer } from "../webhook-server.js";
import { KEYS, keysOf } from "./controls.js";
import { type Dashboard, startDashboard } from "./dashboard.js";
import { describeFirstSticker } from "./first-sticker.js";
import { GALLERY } from "./gallery.js";
import { guestSchemas } from "./guest-schemas.js";
import { listenForKeys } from "./keys.js";
import {
  type Breakers,
  breakerNews,
  breakersOf,
  doesNobodyDraw,
  leftByLastRun,
  tellPacks,
  waitingIn,
  whyOneWaits,
} from "./news.js";
import { type Simulation, startSimulation } from "./simulation.js";
import { SyntheticUsers } from "./synthetic-users.js";
import { counted, describeArrival, printSummary, Tally } from "./tally.js";
import { View } from "./view.js";
import { WorkerProcesses } from "./worker-processes.js";

const ENV_FILE = fileURLToPath(new URL("../.env", import.meta.url));
const LOOK_MS = 500;

export interface Where {
  readonly databaseUrl: string;
  /** A database of the example's own, where everything may stay. */
  readonly isOurs: boolean;
}

/** `stickers`: ends when so many have arrived. */
export async function run({ databaseUrl, isOurs }: Where, stop: AbortSignal, stickers?: number): Promise<void> {
  if (existsSync(ENV_FILE)) process.loadEnvFile(ENV_FILE);
  const over = new AbortController();
  const signal = AbortSignal.any([stop, over.signal]);
  const view = new View();
  const guest = isOurs ? undefined : await guestSchemas(databaseUrl);
  const simulation = await startSimulation(process.env);
  const environment = {
    ...simulation.environment,
    DATABASE_URL: databaseUrl,
    FAIRMILL_SCHEMA: guest?.schema ?? "fairmill",
  };
  const parts = createParts(readSettings({ ...process.env, ...environment }));
  const tally = new Tally();
  const workers = new WorkerProcesses(environment, { onLoss: (text) => view.say(text) });
  let webhook: Awaited<ReturnType<typeof startWebhookServer>> | undefined;
  let users: SyntheticUsers | undefined;
  let dashboard: Dashboard | undefined;
  let leaveKeys = (): void => {};
  let isUnderWay = false;
  try {
    await prepare(parts, simulation);
    workers.start();
    webhook = await openWebhook(parts, simulation);
    dashboard = await startDashboard(parts);
    if (!signal.aborted)
      view.print(greeting(parts, simulation, { dashboard: dashboard.url, isOurs, isTerminal: view.isTerminal }));
    if (simulation.telegram) {
      const left = await leftByLastRun(parts);
      if (left) view.say(left);
      // Above the numbers of earlier runs in this database, so that no update counts as repeated.
      const startedAt = Date.now();
      startUpdatesAt(startedAt);
      users = new SyntheticUsers(simulation.telegram, startedAt, signal, (arrival) => {
        view.say(describeArrival(arrival));
        const count = tally.count(arrival);
        if (count === 1 && arrival.message.sticker)
          void describeFirstSticker(parts, arrival).then(
            (text) => text && !signal.aborted && view.print(text),
            () => {},
          );
        if (count === 3) void parts.client.schedules.run(PACK_SCHEDULE).catch(() => {});
        if (tally.stickers === stickers) over.abort();
      });
      tellPacks(parts, simulation.telegram, view);
      users.add("cats", 4);
      users.add("office", 3);
      users.add("memes", 8, "noisy");
    }
    leaveKeys = listenForKeys(keysOf({ parts, simulation, workers, users, view, quit: () => over.abort() }), () =>
      view.print(KEYS.trimEnd()),
    );
    isUnderWay = true;
    await watch(parts, tally, view, signal);
  } finally {
    // Also when it failed: users stop writing.
    over.abort();
    leaveKeys();
    view.leave();
    if (isUnderWay && !stop.aborted)
      view.print("Stopping: what is being drawn is finished first. Ctrl-C twice: at once …");
    await inTurn([
      () => webhook?.stop(),
      () => dashboard?.stop(),
      () => users?.gone(),
      () => workers.stop(),
      () => (!stop.aborted && tally.stickers > 0 ? printSummary(parts, tally, view) : undefined),
      () => parts.close(),
      () => guest?.drop(),
      () => simulation.stop(),
    ]);
  }
}

/** All of them, also when one fails: a server that was left listening would keep the process alive. The first failure is thrown at the end. */
async function inTurn(endings: readonly (() => Promise<void> | undefined)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const end of endings)
    try {
      await end();
    } catch (error) {
      failures.push(error);
    }
  if (failures.length > 0) throw failures[0];
}

async function prepare(parts: Parts, simulation: Simulation): Promise<void> {
  const { client, people, catalogue, telegram } = parts;
  await client.migrate();
  await people.createTable();
  await catalogue.createTable();
  await limitTelegram(client, telegram);
  // The real Telegram has no chat until one is named, and eight pictures a night are paid for.
  if (simulation.telegram || process.env["PACK_CHAT"]) await schedulePacks(parts);
  await limitPacks(client);
  await scheduleSweep(client);
}

/** The real Telegram is told the public address; the simulated one reaches this machine. */
async function openWebhook(parts: Parts, { telegram }: Simulation) {
  const { secret } = parts.settings.telegram;
  const port = readWebhookPort();
  const publicUrl = process.env["PUBLIC_URL"];
  if (!telegram && !publicUrl)
    throw new Error("TELEGRAM_TOKEN is set: set PUBLIC_URL, too, so that Telegram finds the bot.");
  const server = await startWebhookServer(createBot(parts, parts.settings.telegram), secret, port);
  const url = telegram ? server.url : `${publicUrl!.replace(/\/$/, "")}/telegram`;
  await parts.api.setWebhook(url, { secret_token: secret });
  return server;
}

async function watch(parts: Parts, tally: Tally, view: View, signal: AbortSignal): Promise<void> {
  const { client } = parts;
  let before: Breakers | undefined;
  let isToldWhy = false;
  while (!signal.aborted) {
    const queue = await client.queues.get(makeSticker.queue);
    const providers = await client.providers.list();
    const breakers = breakersOf(providers);
    // What an earlier run left open is no news.
    for (const text of breakerNews(before ?? breakers, breakers)) view.say(text);
    before = breakers;
    const why: string | undefined = doesNobodyDraw(breakers) && !isToldWhy ? await whyOneWaits(parts) : undefined;
    if (why) view.say(why);
    isToldWhy = doesNobodyDraw(breakers) && (isToldWhy || why !== undefined);
    const drawn = queue?.running.count ?? 0;
    // Behind its time, an open breaker waits for a call that finds out.
    const closed = providers.filter(({ closed }) => closed && !(closed.until && closed.until < new Date()));
    view.show(
      tally.stickers === 0 && drawn === 0
        ? "  the workers are starting; the first sticker comes in some seconds …"
        : [
            `  ${counted(tally.stickers, "sticker")}`,
            `${drawn} being drawn`,
            `${waitingIn(queue)} waiting`,
            ...(closed.length > 0 ? [`closed: ${closed.map(({ name }) => name).join(", ")}`] : []),
            ...(tally.apologies > 0 ? [`${counted(tally.apologies, "credit")} given back`] : []),
          ].join("  "),
    );
    await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
  }
}

function greeting(
  { settings }: Parts,
  simulation: Simulation,
  { dashboard, isOurs, isTerminal }: { dashboard: string; isOurs: boolean; isTerminal: boolean },
): string {
  const folder = relative(process.cwd(), settings.filesFolder) || settings.filesFolder;
  const names = { telegram: "Telegram", gemini: "the picture model", pixian: "the background remover" } as const;
  const simulated = (Object.keys(names) as (keyof typeof names)[])
    .filter((name) => simulation[name])
    .map((name) => names[name]);
  return `
Sticker bot, explained in examples/stickers/README.md.
${simulated.length > 0 ? `Simulated on this machine: ${simulated.join(", ")}.` : "All services are the real ones."}
Dashboard: ${dashboard}
Stickers: ${dashboard}${GALLERY}, as files in ${folder}/<community>/
Packs: ${folder}/packs/
${isOurs ? "In another terminal here: npx fairmill top (or why <job>, providers, outbox)\n" : ""}${simulation.telegram ? "Three communities ask for stickers: cats, office, and memes, which is noisy.\n" : ""}Worker processes of a supervisor draw them.
${isTerminal ? KEYS : ""}`;
}
