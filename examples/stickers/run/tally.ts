// Counts what arrived in the chats, and says it in lines.
import { relative } from "node:path";
import { makeSticker } from "../jobs.js";
import type { Parts } from "../parts.js";
import type { Arrival } from "./synthetic-users.js";
import type { View } from "./view.js";

export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

export class Tally {
  stickers = 0;
  apologies = 0;
  readonly #waits = new Map<string, number[]>();

  /** How many stickers there are now. */
  count({ community, message, seconds }: Arrival): number {
    if (message.sticker) {
      this.stickers++;
      this.#waits.set(community, [...(this.#waits.get(community) ?? []), seconds]);
    } else if (message.text?.includes("credit is back")) this.apologies++;
    return this.stickers;
  }

  /** Per community: how many, and how long half of its users waited at most. */
  lines(): string[] {
    return [...this.#waits].map(([community, waits]) => {
      const middle = waits.toSorted((a, b) => a - b)[Math.floor(waits.length / 2)]!;
      return `  ${community.padEnd(9)} ${counted(waits.length, "sticker").padStart(13)}, half of them within ${middle.toFixed(1)} s`;
    });
  }
}

export function describeArrival({ community, user, words, seconds, message }: Arrival): string {
  const who = `${community.padEnd(9)} user ${user % 10_000}`;
  return message.sticker
    ? `${who}  got “${words}” after ${seconds.toFixed(1)} s`
    : `${who}  was told: ${message.text?.slice(0, 90)}`;
}

export async function printSummary({ client, settings }: Parts, tally: Tally, view: View): Promise<void> {
  const [last] = await client.jobs.list({ kind: makeSticker.kind, state: "done", limit: 1 });
  const unknown = await client.outbox.list({ status: "unknown", limit: 200 });
  const { stickers, apologies } = tally;
  view.print(
    `\n${counted(stickers, "sticker")} arrived, ${counted(apologies, "credit")} ${apologies === 1 ? "was" : "were"} given back.`,
  );
  for (const line of tally.lines()) view.print(line);
  if (unknown.length > 0)
    view.print(
      `  ${counted(unknown.length, "send")} ${unknown.length === 1 ? "was" : "were"} cut off and may have arrived: the dashboard of the next start lists them as unknown`,
    );
  const file = last && `${settings.filesFolder}/${(last.result as { key: string }).key}`;
  if (file) view.print(`The last one drawn: ${relative(process.cwd(), file) || file}`);
}
