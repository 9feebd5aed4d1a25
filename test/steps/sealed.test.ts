// S14: what steps and signals keep is sealed like everything else, and comes back as it was.
import { randomBytes } from "node:crypto";
import { createClient, createCodec, defineJob, handle } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { startWorker } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const codec = createCodec({ keys: { k1: randomBytes(32) }, current: "k1" });
const job = defineJob<{ user: string }>({ kind: "sealed.steps" });

test("S14: results of steps and values of signals are in no row in the clear, and a later run gets them as they were", async () => {
  await using client = createClient({ databaseUrl: db.url, codec });
  let charges = 0;
  const seen: unknown[] = [];
  await using _ = await startWorker(
    db.url,
    [
      handle(job, async (ctx) => {
        const receipt = await ctx.step("charge", () => ({ secret: `receipt-${++charges}` }));
        const answer = await ctx.waitFor("approval");
        seen.push(receipt, answer);
        return "fine";
      }),
    ],
    { codec },
  );
  const { id } = await client.enqueue(job, { user: "ann" }, { tenant: "acme" });
  await waitUntil("the job waits", async () => (await client.jobs.steps(id)).some((step) => step.kind === "wait"));
  expect(await client.signal(id, "approval", { secret: "granted-by-bob" })).toBe("sent");
  expect(await client.result(id)).toBe("fine");
  expect(seen).toEqual([{ secret: "receipt-1" }, { secret: "granted-by-bob" }]);
  expect(charges).toBe(1);

  const rows = await db.query<{ row: string }>("select s::text as row from fairmill.step s");
  expect(rows.length).toBe(2);
  for (const { row } of rows) expect(row).not.toMatch(/receipt|granted/);
  const steps = await client.jobs.steps(id);
  expect(steps.map(({ name, result }) => [name, result])).toEqual([
    ["charge", { secret: "receipt-1" }],
    ["approval", { secret: "granted-by-bob" }],
  ]);
  // Without the codec the reader sees that something is there, and not what.
  await using blind = createClient({ databaseUrl: db.url });
  expect(JSON.stringify(await blind.jobs.steps(id))).not.toMatch(/receipt|granted/);
});
