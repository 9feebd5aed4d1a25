// Jobs that wait for a place under their key, seen from a worker: the next one starts when the place is free, whatever else there is to do.
import { createClient, defineJob, handle } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { startWorker } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const perUser = defineJob<{ user: string }>({ kind: "mine", key: ({ user }) => user, limits: { active: 1 } });
const other = defineJob({ kind: "other" });

test("B5: a worker that is busy goes on with a key's next job when the one before ends, not at its next look at everything", async () => {
  const client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(
    other,
    Array.from({ length: 50_000 }, () => ({ input: {} })),
  );
  const order: string[] = [];
  let others = 0;
  const worker = await startWorker(
    db.url,
    [handle(perUser, (ctx) => void order.push(ctx.id)), handle(other, () => void others++)],
    { concurrency: 4, poll: "1h" },
  );
  await waitUntil("it is busy", () => others > 200);
  const chain = await client.enqueueMany(
    perUser,
    Array.from({ length: 12 }, () => ({ input: { user: "u1" }, tenant: "acme" })),
  );
  // Every two seconds it looks at everything: then this would take half a minute.
  await waitUntil("the chain is done", () => order.length === chain.length, 20_000);
  expect(order).toEqual(chain.map(({ id }) => id));
  expect(others).toBeLessThan(50_000);
  await db.query("delete from fairmill.job where state = 'ready'");
  await worker.stop();
  await client.close();
});

test("B5: a limit of three lets three of a key run at once, and each end lets in one more", async () => {
  const three = defineJob<{ user: string }>({ kind: "mine", key: ({ user }) => user, limits: { active: 3 } });
  const client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(
    three,
    Array.from({ length: 60 }, (_, n) => ({ input: { user: `u${n % 2}` } })),
  );
  const running = new Map<string, number>();
  let most = 0;
  let ran = 0;
  const worker = await startWorker(
    db.url,
    [
      handle(three, async ({ input: { user } }) => {
        running.set(user, (running.get(user) ?? 0) + 1);
        most = Math.max(most, running.get(user)!);
        await new Promise((resolve) => setTimeout(resolve, 3));
        running.set(user, running.get(user)! - 1);
        ran++;
      }),
    ],
    { concurrency: 20, poll: "1h" },
  );
  await waitUntil("all ran", () => ran === 60);
  expect(most).toBe(3);
  await worker.stop();
  await client.close();
});
