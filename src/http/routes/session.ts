// Signing in and out, and the stream of notices.

import { EVERY_MS } from "../event-hub.js";
import { HttpProblem } from "../problem.js";
import { audited } from "../rooms.js";
import { Answered, type Route, route } from "../route.js";
import { boundedText, object } from "../schema.js";
import * as shapes from "../shapes.js";
import { toBulk } from "./bulk.js";
import { toMe } from "./home.js";

const isSecure = (request: Request): boolean =>
  (request.headers.get("x-forwarded-proto") ?? new URL(request.url).protocol).startsWith("https");

/** Notices that a listener has not read yet; one that reads no more is let go. */
const UNREAD_MAX = 100;

export const sessionRoutes: readonly Route[] = [
  route("POST", "/session", {
    summary: "Sign in: sets a session cookie",
    role: "anyone",
    tenants: "own",
    body: object({ name: boundedText(1, 200), secret: boundedText(1, 1_000) }),
    answer: shapes.me,
    handle: async ({ http, request, body }) => {
      if (http.gatekeeper.isOpen) return toMe(http, http.gatekeeper.callerOf(request)!);
      const session = http.gatekeeper.signIn(body.name, body.secret, isSecure(request));
      if (session === undefined) throw new HttpProblem(401, "FAIRMILL_HTTP_SIGN_IN", "Name and secret do not fit.");
      const { caller, cookie } = session;
      const actor = { name: caller.actor, via: "http", role: caller.role } as const;
      await audited(http.db, actor, { action: "session.start", subject: `credential ${caller.actor}` }, async () => {});
      return new Answered(200, toMe(http, caller), { "set-cookie": cookie });
    },
  }),
  route("DELETE", "/session", {
    summary: "Sign out: clears the cookie",
    role: "anyone",
    tenants: "own",
    handle: async ({ http, request }) =>
      new Answered(204, undefined, { "set-cookie": http.gatekeeper.signOut(isSecure(request)) }),
  }),
  route("GET", "/events", {
    summary: "Notices that something moved (server-sent events)",
    role: "viewer",
    tenants: "own",
    answer: shapes.textShape,
    handle: async ({ http, tenant, request }) => {
      let end: (() => void) | undefined;
      const encoder = new TextEncoder();
      const body = new ReadableStream<Uint8Array>(
        {
          start: (controller) => {
            const write = (text: string) => {
              // It reads no more, or is gone.
              if ((controller.desiredSize ?? 0) < -UNREAD_MAX) return close();
              controller.enqueue(encoder.encode(text));
            };
            const send = (event: string, data: unknown) => write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
            const close = () => {
              end?.();
              end = undefined;
              try {
                controller.close();
              } catch {
                // It was closed from the other side.
              }
            };
            end = http.events.listen({
              tenant,
              change: (change) => send("change", change),
              bulk: (bulk) => send("bulk", toBulk(bulk)),
              beat: () => write(": beat\n\n"),
            });
            if (end === undefined) return;
            request.signal.addEventListener("abort", close, { once: true });
            write("retry: 3000\n\n");
            send("hello", { at: new Date(http.clock.now()), everyMs: EVERY_MS });
          },
          cancel: () => end?.(),
        },
        { highWaterMark: 16 },
      );
      if (end === undefined)
        throw new HttpProblem(
          429,
          "FAIRMILL_HTTP_TOO_MANY_LISTENERS",
          "Too many listen to this server. Ask again later.",
        );
      return new Response(body, {
        headers: {
          "content-type": "text/event-stream; charset=utf-8",
          "cache-control": "no-store",
          "x-accel-buffering": "no",
        },
      });
    },
  }),
];
