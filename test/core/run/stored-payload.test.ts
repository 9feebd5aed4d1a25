// F1: the stored payload is checked again before a handler has it.
import { createClient, defineJob, fixed, handle, type StandardSchema } from "fairmill";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { useDatabase } from "../../support/database.js";
import { endOf, startWorker } from "../../support/jobs.js";

const db = useDatabase();
const quickly = { attempts: 2, backoff: fixed(0) };

describe("F1: the stored payload", () => {
  test("is validated again, and the handler gets what the schema makes of it", async () => {
    const dated = defineJob({
      kind: "dated",
      input: z.object({ at: z.string().transform((text) => new Date(text)), n: z.number().default(7) }),
    });
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [
      handle(dated, ({ input }) => ({ year: input.at.getUTCFullYear(), n: input.n })),
    ]);
    const { id } = await client.enqueue(dated, { at: "1999-12-31T00:00:00Z" });
    expect(await client.result(id)).toEqual({ year: 1999, n: 7 });
  });

  test("that no longer fits ends the job at once with a code of its own, and the handler is not called", async () => {
    const old = defineJob({ kind: "renamed" });
    const today = defineJob({ kind: "renamed", input: z.object({ userId: z.string() }), retry: quickly });
    let calls = 0;
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [handle(today, () => ++calls)]);
    const { id } = await client.enqueue(old, { user: "ann" });
    expect(await endOf(client, id)).toMatchObject({
      state: "dead",
      attempt: 1,
      error: { code: "FAIRMILL_PAYLOAD_OUTDATED", message: expect.stringMatching(/no longer fits.*userId/s) },
      failures: [{ outcome: "invalid" }],
    });
    expect(calls).toBe(0);
  });

  test("is validated by asynchronous schemas before the handler is called", async () => {
    const old = defineJob<{ user: string }>({ kind: "checked" });
    const today = defineJob({
      kind: "checked",
      input: z.object({ user: z.string().refine(async (user) => user !== "bob", "unknown user") }),
    });
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [handle(today, ({ input }) => input.user)]);
    const [ann, bob] = await client.enqueueMany(old, [{ input: { user: "ann" } }, { input: { user: "bob" } }]);
    expect(await endOf(client, ann!.id)).toMatchObject({ state: "done", result: "ann" });
    expect(await endOf(client, bob!.id)).toMatchObject({ state: "dead", error: { code: "FAIRMILL_PAYLOAD_OUTDATED" } });
  });

  test("whose validator breaks is a failure like any other, and is tried again", async () => {
    let calls = 0;
    const flaky = defineJob({
      kind: "flaky",
      retry: quickly,
      input: {
        "~standard": {
          version: 1,
          vendor: "test",
          validate: (value: unknown) => {
            if (calls++ === 0) throw new Error("the validator's own trouble");
            return { value };
          },
        },
      } satisfies StandardSchema,
    });
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [handle(flaky, () => "fine")]);
    const [row] = await db.query<{ id: string }>("select id from fairmill.enqueue_v1('flaky')");
    expect(await endOf(client, row!.id)).toMatchObject({
      state: "done",
      attempt: 2,
      failures: [{ outcome: "failed", error: { message: "the validator's own trouble" } }],
    });
  });
});
