// How the first sticker came about, part by part: for people who see this for the first time.
import { relative } from "node:path";
import { makeSticker } from "../jobs.js";
import type { Parts } from "../parts.js";
import type { Arrival } from "./synthetic-users.js";

/** Undefined: it is not on record yet. */
export async function describeFirstSticker(
  { client, settings }: Parts,
  { community, user }: Arrival,
): Promise<string | undefined> {
  const done = await client.jobs.list({ kind: makeSticker.kind, state: "done", tenant: community });
  const job = done.find(({ key }) => key === `telegram-${user}`);
  if (!job) return undefined;
  const steps = await client.jobs.steps(job.id);
  const charges = await client.providers.charges(job.id);
  const line = (part: string, text: string) => `            ${part.padEnd(9)} ${text}`;
  const drawn = (name: string, what: string) => {
    const step = steps.find((one) => one.name === name);
    const by = (step?.result as { by?: string } | null)?.by;
    return step?.finishedAt && step.startedAt && by
      ? [
          line(
            name,
            `${what} by ${by}, ${((step.finishedAt.getTime() - step.startedAt.getTime()) / 1_000).toFixed(1)} s`,
          ),
        ]
      : [];
  };
  const cost = charges.reduce((sum, charge) => sum + charge.cost, 0);
  const file = `${settings.filesFolder}/${(job.result as { key: string }).key}`;
  return [
    `  How job ${job.id} of ${job.tenant} went; each step is kept, and a crash repeats none:`,
    line("webhook", "the request was stored, and one credit of the user reserved"),
    line(
      "queue",
      `its turn came after ${(((job.startedAt ?? job.createdAt).getTime() - job.createdAt.getTime()) / 1_000).toFixed(1)} s`,
    ),
    ...drawn("picture", "drawn"),
    ...drawn("cutout", "cut out"),
    line("sticker", relative(process.cwd(), file) || file),
    line("outbox", `sent; the credit is captured, the calls cost ${cost.toFixed(3)} USD`),
  ].join("\n");
}
