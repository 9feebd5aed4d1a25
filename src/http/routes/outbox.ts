// The outbox: messages, what the receiver said, resolving what needs review.
import { act, ownOnly, tenantOf } from "../acting.js";
import { pageOf, patiently, TOO_SLOW } from "../page.js";
import { notFound } from "../problem.js";
import { openMessage, readMessage, readMessages, readWhy } from "../rooms.js";
import { type Call, limitIn, paging, type Route, route } from "../route.js";
import { boundedText, list, name, nullable, object, oneOf, optional } from "../schema.js";
import * as shapes from "../shapes.js";
import { type ChannelFigures, readChannels, readNextAttempt } from "../view-statements.js";
import { withoutOthers } from "./job-view.js";
import { checkedId } from "./jobs.js";

async function messageFor(call: Call<unknown, unknown>) {
  const { id = "" } = call.params;
  return ownOnly(call, /^\d{1,18}$/.test(id) ? await readMessage(call.http.view, id) : undefined, "such message");
}

export const outboxRoutes: readonly Route[] = [
  route("GET", "/outbox", {
    summary: "A page of messages, newest first",
    role: "viewer",
    tenants: "own",
    query: object({
      status: optional(oneOf("pending", "sending", "sent", "failed", "skipped", "unknown")),
      channel: optional(name),
      tenant: optional(name),
      ...paging,
    }),
    answer: shapes.pageOf(shapes.messageRow),
    handle: async (call) => {
      const { status, channel, tenant, cursor } = call.query;
      const before = cursor === undefined ? undefined : checkedId(cursor, "cursor");
      const filter = { status, channel, tenant: tenantOf(call, tenant), before };
      const read = (limit: number) =>
        readMessages(call.http.lists, { ...filter, limit } as Parameters<typeof readMessages>[1]);
      return pageOf(limitIn(call.query), read, ({ id }) => id);
    },
  }),
  route("GET", "/outbox/channels", {
    summary: "What is open, needs review and failed, by channel",
    role: "viewer",
    tenants: "own",
    answer: object({ items: list(shapes.channelRow), notice: nullable(shapes.notice) }),
    handle: ({ http, tenant }) =>
      patiently(async () => ({ items: (await readChannels(http.lists, tenant)).map(toChannel), notice: null }), {
        items: [] as ReturnType<typeof toChannel>[],
        notice: TOO_SLOW as typeof TOO_SLOW | null,
      } as never),
  }),
  route("GET", "/outbox/{id}", {
    summary: "One message with its attempts",
    role: "viewer",
    tenants: "own",
    answer: shapes.messageDetail,
    handle: async (call) => {
      const { http } = call;
      const message = http.redactor.message(openMessage(http.context.codec, await messageFor(call)));
      const shown = http.redact ?? ((value: unknown) => value);
      return {
        ...message,
        payload: shown(message.payload),
        answer: shown(message.answer),
        nextAttemptAt: message.jobId === null ? null : await readNextAttempt(http.view, message.jobId),
        attempts: message.attempts.map(({ at, outcome, worker, error, as, by, reason, dropped }) => ({
          at,
          outcome: outcome ?? null,
          worker: worker ?? null,
          error: error ? shown(error) : null,
          as: as ?? null,
          by: by ?? null,
          reason: reason ?? null,
          dropped: dropped ?? 0,
        })),
      };
    },
  }),
  route("GET", "/outbox/{id}/why", {
    summary: "Why a message is not sent",
    role: "viewer",
    tenants: "own",
    answer: shapes.why,
    handle: async (call) => {
      const { id } = await messageFor(call);
      const why = await readWhy<string>(call.http.view, "message", id);
      if (why === undefined) throw notFound("such message");
      return call.tenant === undefined ? why : withoutOthers(why);
    },
  }),
  route("POST", "/outbox/{id}/resolve", {
    summary: "Say what became of a message whose fate is unknown, or send it again",
    role: "operator",
    tenants: "own",
    body: object({ verdict: oneOf("sent", "failed", "resend"), reason: optional(boundedText(1, 500)) }),
    answer: shapes.answer("resolved", "known", "open", "order_busy"),
    handle: async (call) => {
      const { id, tenant } = await messageFor(call);
      const { verdict, reason } = call.body;
      const how = { by: call.caller.actor, ...(reason !== undefined && { reason }) };
      const resolve = () => call.http.client.outbox.resolve(id, verdict, how);
      const answer = await act(call, "message.resolve", `message ${id}`, resolve, {
        tenant,
        detail: { verdict, reason },
      });
      return { answer };
    },
  }),
];

const toChannel = ({ more, open, unknown, failed, ...row }: ChannelFigures) => ({
  ...row,
  open: { count: open, more },
  unknown: { count: unknown, more },
  failed: { count: failed, more },
});
