// A question of a job, answered by a link: the token names the job, the signal and an end, and this is all that its holder may do. Reading changes
// nothing, so programs that open links to look at them answer nothing; the answer is a write from our own page.
import type { Duration } from "../../base/duration.js";
import { type AnswerGrant, signAnswerToken } from "../../jobs/answer-token.js";
import { act, jobFor } from "../acting.js";
import type { Backend } from "../backend.js";
import { needsSecret, notFound } from "../problem.js";
import { type Job, openJob } from "../rooms.js";
import { type Route, route } from "../route.js";
import { boolean, boundedText, duration, name, object, optional, time } from "../schema.js";
import * as shapes from "../shapes.js";
import { type QuestionRow, readQuestion } from "../view-statements.js";

const COMMENT_CHARACTERS_MAX = 1_000;

type QuestionState = "open" | "answered" | "over";

/** Of the token's own question: one that was asked again, after the job had started again, is another. */
function stateOf(found: QuestionRow | undefined, { askedMs }: AnswerGrant): QuestionState {
  if (found === undefined || (found.stepKind !== null && found.stepKind !== "wait")) return "over";
  if (found.stepKind === null) return askedMs === undefined ? "open" : "over";
  if (askedMs !== undefined && found.since?.getTime() !== askedMs) return "over";
  if (found.isAnswered) return "answered";
  return found.isOver ? "over" : "open";
}

/** What the job said, without what must not be shown. */
function questionOf({ redactor, context, redact }: Backend, row: QuestionRow): unknown {
  const bare = { payload: null, result: null, error: null, failures: [] };
  const opened = openJob(context.codec, { ...row, ...bare, progress: row.question } as never as Job);
  const { progress } = redactor.job(opened);
  return redact ? redact(progress) : progress;
}

export const answerRoutes: readonly Route[] = [
  route("POST", "/jobs/{id}/answer-link", {
    summary: "A link that answers the question of this job, once, and may nothing else",
    role: "operator",
    tenants: "own",
    body: object({ name, for: optional(duration) }),
    answer: object({ token: shapes.textShape, path: shapes.textShape, expiresAt: time }),
    status: 201,
    handle: async (call) => {
      const { id, tenant } = await jobFor(call);
      const { answers, clock, view } = call.http;
      if (answers === undefined) throw needsSecret("Links cannot be signed here");
      const { name: signal, for: lifetime = "24h" } = call.body;
      const asked = await readQuestion(view, id, signal);
      const isOpen = asked?.stepKind === "wait" && asked.isAsked && !asked.isAnswered && !asked.isOver;
      if (!isOpen) throw notFound("such question: the job does not wait for this signal");
      const grant = { job: id, signal, by: call.caller.actor, askedMs: asked.since!.getTime() };
      const sign = async () => signAnswerToken(answers, clock, grant, lifetime as Duration);
      return act(call, "job.answer-link", `job ${id}`, sign, { tenant, detail: { name: signal, for: lifetime } });
    },
  }),
  route("GET", "/answer", {
    summary: "The question that a link may answer",
    role: "answer",
    tenants: "own",
    answer: shapes.question,
    handle: async ({ http, caller }) => {
      const grant = caller.answer!;
      const found = await readQuestion(http.view, grant.job, grant.signal);
      const state = stateOf(found, grant);
      const shown = state === "over" ? undefined : found;
      return {
        ...{ state, jobId: grant.job, name: grant.signal, expiresAt: grant.expiresAt },
        ...{ kind: shown?.kind ?? null, tenant: shown?.tenant ?? null },
        question: shown === undefined ? null : questionOf(http, shown),
        ...{ since: shown?.since ?? null, deadline: shown?.deadline ?? null },
      };
    },
  }),
  route("POST", "/answer", {
    summary: "Answer the question of a link: yes or no, with a comment",
    role: "answer",
    tenants: "own",
    body: object({ approved: boolean, comment: optional(boundedText(1, COMMENT_CHARACTERS_MAX)) }),
    answer: shapes.answer("sent", "known", "late", "ended"),
    handle: async (call) => {
      const { http, caller, body } = call;
      const { job, signal } = caller.answer!;
      const found = await readQuestion(http.view, job, signal);
      const state = stateOf(found, caller.answer!);
      // Not recorded: a link that is used again and again must not fill the record of actions.
      if (state !== "open" || found === undefined)
        return { answer: state === "answered" ? "known" : found === undefined ? "ended" : "late" };
      const { approved, comment } = body;
      const value = { approved, ...(comment !== undefined && { comment }) };
      const send = () => http.client.signal(job, signal, value);
      const { tenant } = found;
      const answer = await act(call, "job.signal", `job ${job}`, send, { tenant, detail: { name: signal, approved } });
      return { answer: answer === "not_found" ? "ended" : answer };
    },
  }),
];
