// The one tool that changes something. Without a token it shows what would happen; with the token of that preview, and the same words, it acts.
import { anyJson, boolean, boundedText, id, name, object, oneOf, optional } from "../http/schema.js";
import { part } from "./api.js";
import { filterOfJobs } from "./reading-tools.js";
import { defineTool, refused, type Tool, type ToolContext } from "./tool.js";

const input = object({
  action: oneOf(
    ...(["job.cancel", "job.retry", "job.rerun", "job.signal"] as const),
    ...(["queue.pause", "queue.resume", "kind.pause", "kind.resume", "tenant.pause", "tenant.resume"] as const),
    ...(["schedule.pause", "schedule.resume", "schedule.run"] as const),
    ...(["bulk.cancel", "bulk.retry", "bulk.redrive", "bulk.rerun"] as const),
  ),
  id: optional(id),
  name: optional(name),
  filter: optional(object(filterOfJobs)),
  fromStart: optional(boolean),
  input: optional(anyJson),
  value: optional(anyJson),
  reason: optional(boundedText(1, 500)),
  confirm: optional(boundedText(1, 100)),
});
type Input = Parameters<typeof planOf>[0];

/** What is looked at before, and what is sent. */
interface Plan {
  readonly look: readonly ["GET" | "POST", string, unknown?];
  readonly act: readonly ["POST", string, unknown?];
  readonly effect: string;
}

const BULK = {
  cancel: "cancels every live job that fits",
  retry: "runs every dead or cancelled job that fits again, and scheduled ones now",
  redrive: "runs every dead job that fits again",
  rerun: "stores a new job like each ended one that fits",
} as const;

/** A text: what is missing in the words. */
function planOf(words: ReturnType<typeof input.check>): Plan | string {
  const { action, id: job, name: of, filter, fromStart, value, reason } = words;
  const [thing, verb] = action.split(".") as [string, string];
  const body = <T>(members: Record<string, T | undefined>) => {
    const given = Object.entries(members).filter(([, member]) => member !== undefined);
    return given.length === 0 ? undefined : Object.fromEntries(given);
  };
  if (thing === "job") {
    if (job === undefined) return `${action} needs the id of a job.`;
    const path = `/jobs/${job}`;
    const look = ["GET", path] as const;
    switch (verb) {
      case "cancel":
        return {
          look,
          act: ["POST", `${path}/cancel`],
          effect: `cancels job ${job}; a running handler is asked to stop`,
        };
      case "retry":
        return { look, act: ["POST", `${path}/retry`, body({ fromStart })], effect: `makes job ${job} run again` };
      case "rerun":
        return {
          look,
          act: ["POST", `${path}/rerun`, body({ input: words.input })],
          effect: `stores a new job like job ${job}${words.input === undefined ? "" : " with this input"}`,
        };
      default:
        if (of === undefined) return "job.signal needs the name of the signal.";
        return {
          look,
          act: ["POST", `${path}/signal`, body({ name: of, value })],
          effect: `sends the signal "${of}" to job ${job}`,
        };
    }
  }
  if (thing === "bulk") {
    if (filter === undefined || Object.keys(filter).length === 0)
      return `${action} needs a filter that says something.`;
    const spec = { action: verb, filter, ...(reason !== undefined && { reason }) };
    return {
      look: ["POST", "/bulk/preview", spec],
      act: ["POST", "/bulk", spec],
      effect: `${BULK[verb as keyof typeof BULK]}, in bounded steps that can be stopped`,
    };
  }
  if (of === undefined) return `${action} needs a name.`;
  const path = `/${thing}s/${part(of)}`;
  return { look: ["GET", path], act: ["POST", `${path}/${verb}`], effect: `${verb}s the ${thing} "${of}"` };
}

export const ACTING_TOOL: Tool = defineTool({
  name: "act",
  title: "Act: cancel, retry, rerun, signal, pause, resume, bulk actions",
  description:
    "Changes something, in two calls. Without confirm it changes nothing and answers with a preview and a token. Show the preview to the person you work for; then repeat the call with the same words and the token as confirm. " +
    "job.* need id (job.signal also name), queue.*, kind.*, tenant.* and schedule.* need name, bulk.* need filter. Every action is recorded with its actor.",
  input,
  isReader: false,
  call: async ({ confirm, ...words }: Input, context) => {
    const plan = planOf(words as Input);
    if (typeof plan === "string") return refused(plan);
    return confirm === undefined ? preview(plan, words, context) : act(plan, words, confirm, context);
  },
});

async function preview({ look, effect }: Plan, words: object, { api, confirmations, signal }: ToolContext) {
  const [method, path, body] = look;
  const { ok, value } = await api.ask(method, path, body, signal);
  if (!ok) return { value, isError: true };
  return {
    value: {
      nothingChangedYet: true,
      wouldDo: effect,
      on: value,
      confirm: confirmations.offer(words),
      next: "Repeat this call with the same words and this confirm to do it.",
    },
    isError: false,
  };
}

async function act({ act: [method, path, body] }: Plan, words: object, token: string, context: ToolContext) {
  const refusal = context.confirmations.refusal(token, words);
  if (refusal !== undefined) return refused(refusal);
  // Not with the caller's signal: what has begun is not left half known.
  const { ok, value } = await context.api.ask(method, path, body);
  return { value: ok ? { done: true, answer: value } : value, isError: !ok };
}
