// Does the same to several jobs and reports the outcome of each.

import type { GlobalOptions } from "../../cli/command.js";
import type { ExitCode } from "../../cli/failure.js";
import type { Output } from "../../cli/output.js";
import { findTarget, withClient } from "../../cli/target.js";
import type { Client } from "../../client/client.js";

export interface Answered {
  /** What people read. */
  readonly words: string;
  /** False: what was asked for did not happen, and the command fails. */
  readonly ok: boolean;
}

export async function eachJob<Answer extends string>(
  call: { ids: readonly string[]; options: GlobalOptions; out: Output },
  ask: (client: Client, id: string) => Promise<Answer>,
  meaning: (answer: Answer) => Answered,
): Promise<ExitCode> {
  const { ids, options, out } = call;
  const answers = await withClient(await findTarget(options), async (client) => {
    const all: { id: string; answer: Answer }[] = [];
    for (const id of ids) all.push({ id, answer: await ask(client, id) });
    return all;
  });
  const linesOf = (wanted: boolean) =>
    answers.flatMap(({ id, answer }) => {
      const { ok, words } = meaning(answer);
      return ok === wanted ? [`Job ${id} ${words}`] : [];
    });
  const [done, refused] = [linesOf(true), linesOf(false)];
  if (out.json || done.length > 0) out.result({ jobs: answers }, done.join("\n"));
  if (refused.length > 0) out.note(refused.join("\n"));
  return refused.length === 0 ? 0 : 1;
}
