// What becomes of things in the background, said on the screen as it happens: breakers that open and close, and packs that are ready.
import { relative } from "node:path";
import type { ProviderState, QueueOverview } from "fairmill/observe";
import { makeSticker } from "../jobs.js";
import { sendPack } from "../packs.js";
import type { Parts } from "../parts.js";
import { gemini, pixian, secondModel } from "../providers.js";
import type { TelegramSimulator } from "../simulators/telegram.js";
import { counted } from "./tally.js";
import type { View } from "./view.js";

/** What goes on while a provider is left alone. */
function meanwhile(name: string, now: Breakers): string {
  if (name === pixian.name) return "stickers are cut out here";
  const drawing = [gemini.name, secondModel.name].find((model) => isClosed(model, now));
  return drawing ? `${drawing} draws` : "requests wait in the queue and hold no worker";
}

export type Breakers = ReadonlyMap<string, ProviderState["breaker"]>;
export const breakersOf = (providers: readonly Pick<ProviderState, "name" | "breaker">[]): Breakers =>
  new Map(providers.map(({ name, breaker }) => [name, breaker]));
const isClosed = (name: string, breakers: Breakers): boolean => (breakers.get(name) ?? "closed") === "closed";

/** What changed from one look to the next. An open breaker lets one call through now and then; that changes nothing yet. */
export function breakerNews(before: Breakers, now: Breakers): string[] {
  return [...now].flatMap(([name, breaker]) => {
    const wasClosed = isClosed(name, before);
    if (wasClosed === (breaker === "closed")) return [];
    return wasClosed
      ? `too many calls of ${name} failed: its breaker is open, and no worker calls it; ${meanwhile(name, now)}`
      : `a single call has found ${name} well again: its breaker is closed, and all workers call it`;
  });
}

export const doesNobodyDraw = (now: Breakers): boolean =>
  [gemini, secondModel].every(({ name }) => !isClosed(name, now));

export const waitingIn = (queue: QueueOverview | undefined): number =>
  queue ? queue.ready.count + queue.blocked.count + queue.scheduled.count : 0;

/** Asked before the first user of this run writes; undefined: nothing waits. */
export async function leftByLastRun({ client }: Parts): Promise<string | undefined> {
  const left = waitingIn(await client.queues.get(makeSticker.queue));
  return left === 0
    ? undefined
    : `${counted(left, "request")} of the last run still ${left === 1 ? "waits" : "wait"}: nothing stored is lost by a stop, and the stickers appear on the page`;
}

/** What Fairmill says about the request that waits the longest; undefined: none waits. */
export async function whyOneWaits({ client }: Parts): Promise<string | undefined> {
  const waiting = (await client.jobs.list({ kind: makeSticker.kind, state: "ready", limit: 200 })).at(-1);
  return waiting && `fairmill why ${waiting.id}: ${(await client.why(waiting.id))?.reason}`;
}

/** Beside what else listens to the chats. */
export function tellPacks({ client, settings }: Parts, telegram: TelegramSimulator, view: Pick<View, "say">): void {
  const others = telegram.onMessage;
  telegram.onMessage = (chat, message) => {
    others(chat, message);
    if (chat !== String(settings.packChat) || !message.sticker) return;
    void client.jobs.list({ kind: sendPack, state: "done", limit: 1 }).then(
      ([sent]) => {
        const { stickers, sheet } = (sent?.result ?? {}) as { stickers?: number; sheet?: string };
        if (sheet === undefined) return;
        const file = `${settings.filesFolder}/${sheet}`;
        view.say(`the night's pack: one creature in ${stickers} moods, ${relative(process.cwd(), file) || file}`);
      },
      () => {},
    );
  };
}
