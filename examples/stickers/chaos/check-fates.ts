// What every user must have got, and what calls must have cost, when the dust has settled.
import type { Client, Job } from "fairmill";
import type { JobCharge } from "fairmill/observe";
import { makeSticker } from "../jobs.js";
import type { Parts } from "../parts.js";
import { gemini, pixian, secondModel } from "../providers.js";
import type { GeminiSimulator } from "../simulators/gemini.js";
import type { PixianSimulator } from "../simulators/pixian.js";
import type { TelegramSimulator } from "../simulators/telegram.js";

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

const PAGE = 200;
const WELCOME_CREDITS = 3;
/** The simulated Telegram answers within a fifth of a second; a busy machine takes its time. */
const SEND_MS_MAX = 5_000;
const STRIKE_MS_MAX = 1_000;
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

/** The chats of answers whose fate is unknown, with when the last send began; undefined: it was not cut off in the middle. */
async function unknownChats({ outbox }: Client): Promise<Map<number, number | undefined>> {
  const chats = new Map<number, number | undefined>();
  for (let before: string | undefined; ; ) {
    const page = await outbox.list({ status: "unknown", limit: PAGE, ...(before && { before }) });
    for (const { id, idempotencyKey } of page)
      if (/^(sticker|apology)-/.test(idempotencyKey)) {
        const { payload, attempts } = (await outbox.get(id))!;
        // A worker that was cut off has not said what came of it, one whose connection was cut says that it does not know.
        const last = attempts.at(-1);
        const isCut = last !== undefined && [undefined, "uncertain"].includes(last.outcome);
        chats.set((payload as { chat: number }).chat, isCut ? Date.parse(last.at) : undefined);
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

/** `strikes`: when processes were killed and PostgreSQL crashed. */
export async function checkFates(scene: Scene, strikes: readonly number[]): Promise<Checked> {
  const { client } = scene.parts;
  const problems: string[] = [];
  const unknown = await unknownChats(client);
  const jobs = new Map((await stickerJobs(client)).map((job) => [job.key, job]));
  const charges: JobCharge[] = [];
  let refunds = 0;
  let cutWithinMs = 0;
  for (const [chat, begunAt] of unknown) {
    const cutAfterMs = begunAt === undefined ? undefined : cutAfter(begunAt, strikes);
    if (cutAfterMs === undefined) problems.push(`user ${chat}: the answer is unknown, and its send was not cut off`);
    else cutWithinMs = Math.max(cutWithinMs, cutAfterMs);
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

/** How long after a send began the next strike was; undefined: none that could have cut it. */
function cutAfter(begunAt: number, strikes: readonly number[]): number | undefined {
  // The kill comes a moment behind the time that is noted before it.
  const after = strikes.map((at) => at + STRIKE_MS_MAX - begunAt).filter((ms) => ms >= 0 && ms <= SEND_MS_MAX);
  return after.length === 0 ? undefined : Math.max(0, Math.min(...after) - STRIKE_MS_MAX);
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
