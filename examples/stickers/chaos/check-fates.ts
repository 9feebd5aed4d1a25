// What every user must have got, and what calls must have cost, when the dust has settled.
import type { Client, Job } from "fairmill";
import type { JobCharge, MessageDetail } from "fairmill/observe";
import { makeSticker } from "../jobs.js";
import type { Parts } from "../parts.js";
import { gemini, pixian, secondModel } from "../providers.js";
import type { GeminiSimulator } from "../simulators/gemini.js";
import type { PixianSimulator } from "../simulators/pixian.js";
import type { TelegramSimulator } from "../simulators/telegram.js";
import type { StrikeTime } from "./strikes.js";

export interface Scene {
  readonly parts: Parts;
  readonly users: readonly number[];
  readonly telegram: TelegramSimulator;
  readonly gemini: GeminiSimulator;
  readonly pixian: PixianSimulator;
}

export interface Checked {
  readonly problems: readonly string[];
  readonly figures: {
    readonly stickers: number;
    readonly refunds: number;
    /** Answers whose send was cut off in the middle; most of them had arrived. */
    readonly unknown: number;
    readonly unknownArrived: number;
    /** Every one of them had begun at most so long before a process was killed or PostgreSQL crashed. */
    readonly cutWithinMs: number;
    readonly crashes: number;
    /** In the currency of the providers. */
    readonly cost: number;
  };
}

type LastSend = MessageDetail["attempts"][number];

const PAGE = 200;
const WELCOME_CREDITS = 3;
/** The simulated Telegram answers within a fifth of a second; a busy machine takes its time. */
const SEND_MS_MAX = 5_000;
/** Which step keeps what a provider made. */
const STEP_OF: Readonly<Record<string, string>> = {
  [gemini.name]: "picture",
  [secondModel.name]: "picture",
  [pixian.name]: "cutout",
};

export async function stickerJobs(client: Client): Promise<Job[]> {
  const jobs: Job[] = [];
  for (let page: Job[] | undefined; page === undefined || page.length === PAGE; jobs.push(...page)) {
    const before = jobs.at(-1)?.id;
    page = await client.jobs.list({ kind: makeSticker.kind, limit: PAGE, ...(before && { before }) });
  }
  return jobs;
}

const stickersOf = ({ telegram }: Scene, user: number): number =>
  telegram.chats.get(`${user}`)?.filter(({ sticker }) => sticker).length ?? 0;
const apologiesOf = ({ telegram }: Scene, user: number): number =>
  telegram.chats.get(`${user}`)?.filter(({ text }) => text?.includes("Your credit is back")).length ?? 0;

/** The chats of answers whose fate is unknown, with their last send. */
async function unknownChats({ outbox }: Client): Promise<Map<number, LastSend | undefined>> {
  const chats = new Map<number, LastSend | undefined>();
  for (let before: string | undefined; ; ) {
    const page = await outbox.list({ status: "unknown", limit: PAGE, ...(before && { before }) });
    for (const { id, idempotencyKey } of page)
      if (/^(sticker|apology)-/.test(idempotencyKey)) {
        const { payload, attempts } = (await outbox.get(id))!;
        chats.set((payload as { chat: number }).chat, attempts.at(-1));
      }
    if (page.length < PAGE) return chats;
    before = page.at(-1)!.id;
  }
}

/** Users who have no answer yet, and whose answer is not listed as unknown either; and all of them while a send is under way. */
export async function undecided(scene: Scene): Promise<number[]> {
  const { client } = scene.parts;
  for (const status of ["pending", "sending"] as const)
    if ((await client.outbox.list({ status, limit: 1 })).length > 0) return [...scene.users];
  const unknown = await unknownChats(client);
  return scene.users.filter((user) => stickersOf(scene, user) + apologiesOf(scene, user) === 0 && !unknown.has(user));
}

/** `strikes`: when processes were killed and PostgreSQL was crashed. */
export async function checkFates(scene: Scene, strikes: readonly StrikeTime[]): Promise<Checked> {
  const { client } = scene.parts;
  const problems: string[] = [];
  const unknown = await unknownChats(client);
  const jobs = new Map((await stickerJobs(client)).map((job) => [job.key, job]));
  const charges: JobCharge[] = [];
  let refunds = 0;
  let cutWithinMs = 0;
  for (const [chat, send] of unknown) {
    const cutAfterMs = send && cutAfter(send, strikes);
    if (cutAfterMs !== undefined) cutWithinMs = Math.max(cutWithinMs, cutAfterMs);
    else
      problems.push(`user ${chat}: the answer is unknown, and no strike cut its send: ${describeSend(send, strikes)}`);
  }
  for (const user of scene.users) {
    const job = jobs.get(`telegram-${user}`);
    if (!job) {
      problems.push(`user ${user}: no job`);
      continue;
    }
    if (job.state !== "done") refunds++;
    problems.push(...(await fateProblems(scene, user, job, unknown.has(user))));
    const own = await client.providers.charges(job.id);
    charges.push(...own);
    problems.push(...(await repeatedCalls(client, job, own)));
  }
  const spent = charges.reduce((sum, { state, cost }) => (state === "void" ? sum : sum + cost), 0);
  problems.push(...(await costProblems(scene, charges, spent)));
  const stickers = scene.users.filter((user) => stickersOf(scene, user) > 0).length;
  const crashes = [...jobs.values()].reduce((sum, job) => sum + job.crashes, 0);
  const arrived = [...unknown.keys()].filter((user) => stickersOf(scene, user) + apologiesOf(scene, user) > 0);
  const figures = { stickers, refunds, unknown: unknown.size, unknownArrived: arrived.length, cutWithinMs, crashes };
  return { problems, figures: { ...figures, cost: Number(spent.toFixed(3)) } };
}

/** How long after a send began the next strike was, 0 in the middle of one; undefined: none cut it. */
export function cutAfter(
  { outcome, at }: Pick<LastSend, "outcome" | "at">,
  strikes: readonly StrikeTime[],
): number | undefined {
  // A worker that was cut off has not said what came of it, one whose connection was cut says that it does not know.
  if (outcome !== undefined && outcome !== "uncertain") return undefined;
  const begunAt = Date.parse(at);
  const after = strikes.filter(({ to }) => to >= begunAt).map(({ from }) => Math.max(0, from - begunAt));
  const next = Math.min(...after);
  return next <= SEND_MS_MAX ? next : undefined;
}

function describeSend(send: LastSend | undefined, strikes: readonly StrikeTime[]): string {
  if (!send) return "it has none on record";
  const begunAt = Date.parse(send.at);
  const before = strikes.findLast(({ from }) => from <= begunAt);
  const after = strikes.find(({ from }) => from > begunAt);
  const { outcome = "not told", error } = send;
  return `${outcome}${error ? ` (${error.message})` : ""}, begun ${before ? `${begunAt - before.to} ms after a strike` : "before all strikes"}${after ? `, ${after.from - begunAt} ms before the next` : ""}`;
}

/** One sticker and the credit captured, or none, the credit back and one message. An unknown send may have arrived, once. */
async function fateProblems(scene: Scene, user: number, job: Job, isUnknown: boolean): Promise<string[]> {
  const isDone = job.state === "done";
  const { available, reserved } = await scene.parts.client.credits.balance(`telegram-${user}`);
  const is = [stickersOf(scene, user), apologiesOf(scene, user), job.credits?.state, available, reserved].join(" ");
  const credits = isDone ? `captured ${WELCOME_CREDITS - 1} 0` : `released ${WELCOME_CREDITS} 0`;
  const arrived = isDone ? "1 0" : "0 1";
  const allowed = isUnknown ? [`${arrived} ${credits}`, `0 0 ${credits}`] : [`${arrived} ${credits}`];
  if (allowed.includes(is)) return [];
  return [
    `user ${user}, job ${job.id} ${job.state}: stickers, apologies, credits are ${is}, not ${allowed.join(" or ")}`,
  ];
}

/** Calls that began after the step that keeps their result. */
async function repeatedCalls(client: Client, job: Job, charges: readonly JobCharge[]): Promise<string[]> {
  const steps = await client.jobs.steps(job.id);
  return charges.flatMap(({ provider, begunAt, state }) => {
    const kept = steps.find(({ name }) => name === STEP_OF[provider])?.finishedAt;
    return kept && begunAt > kept
      ? [`job ${job.id}: ${provider} was called (${state}) after its result was stored`]
      : [];
  });
}

/** What is on record, against what the services have done and against the sums. */
async function costProblems(scene: Scene, charges: readonly JobCharge[], spent: number): Promise<string[]> {
  const problems: string[] = [];
  const [first, second] = scene.parts.settings.pictures.models;
  const answered = (log: GeminiSimulator["log"], route = "") =>
    log.filter((call) => call.status === 200 && call.route.includes(route)).length;
  for (const [provider, calls] of [
    [gemini.name, answered(scene.gemini.log, first)],
    [secondModel.name, answered(scene.gemini.log, second)],
    [pixian.name, answered(scene.pixian.log)],
  ] as const) {
    const of = (...states: JobCharge["state"][]) =>
      charges.filter((charge) => charge.provider === provider && states.includes(charge.state)).length;
    // What was cut may have been done there or not.
    const [least, most] = [of("paid"), of("paid", "begun", "unknown")];
    if (calls < least || calls > most)
      problems.push(
        `${provider} answered ${calls} calls; on record are ${least} paid and ${most - least} that were cut`,
      );
  }
  const sums = await scene.parts.client.providers.costs({ kind: makeSticker.kind, since: "2000-01-01" });
  const summed = sums.reduce((sum, { cost }) => sum + cost, 0);
  if (Math.abs(summed - spent) > 1e-6)
    problems.push(`the sums of costs are ${summed}, the calls of all jobs cost ${spent}`);
  return problems;
}
