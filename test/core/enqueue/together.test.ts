// What was built apart works together: paid jobs that are redriven or rerun, sealed jobs that are rerun.
import { randomBytes } from "node:crypto";
import { createClient, createCodec, defineJob, handle, NonRetryableError } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { endOf, startWorker } from "../../support/jobs.js";

const db = useDatabase();

const paid = defineJob<{ user: string; fails: boolean }>({
  kind: "paid",
  credits: { account: ({ user }) => user, amount: 2 },
});
const runPaid = handle(paid, ({ input }) => {
  if (input.fails) throw new NonRetryableError("no");
});

test("F6 B18: a paid job that is redriven holds its credits again; where the account has not enough, it stays dead", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await client.credits.grant("ann", 2);
  await client.credits.grant("bob", 2);
  const ids = await Promise.all(
    ["ann", "bob"].map(async (user) => (await client.enqueue(paid, { user, fails: true })).id),
  );
  const worker = await startWorker(db.url, [runPaid]);
  for (const id of ids) expect((await endOf(client, id)).state).toBe("dead");
  await worker.stop();
  // What was given back to bob is held by another job now.
  await client.enqueue(paid, { user: "bob", fails: false }, { delay: "1h" });

  expect(await client.dead.redrive({ kind: "paid" })).toMatchObject({ redriven: 1, seen: 2, complete: true });
  expect((await client.job(ids[0]!))?.state).toBe("ready");
  expect((await client.job(ids[1]!))?.state).toBe("dead");
  expect(await client.credits.balance("ann")).toEqual({ available: 0, reserved: 2 });
  expect(await client.credits.balance("bob")).toEqual({ available: 0, reserved: 2 });
  expect(await client.retry(ids[1]!)).toBe("no_credits");
  expect((await client.job(ids[1]!))?.state).toBe("dead");
});

test("F6 B18: a rerun costs what the job cost, and is refused where that is not there", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await client.credits.grant("ann", 4);
  await using _ = await startWorker(db.url, [runPaid]);
  const { id } = await client.enqueue(paid, { user: "ann", fails: false });
  await client.result(id);
  const again = await client.jobs.rerun(id, { input: { user: "ann", fails: false } });
  await client.result(again.id);
  expect(await client.credits.balance("ann")).toEqual({ available: 0, reserved: 0 });
  await expect(client.jobs.rerun(id)).rejects.toMatchObject({ code: "FAIRMILL_CREDITS_EXHAUSTED", account: "ann" });
});

test("F6 S14: a sealed job is rerun with other input, sealed for its tenant, and runs", async () => {
  const codec = createCodec({ keys: { k1: randomBytes(32) }, current: "k1" });
  const job = defineJob<{ to: string }>({ kind: "sealed.mail" });
  await using client = createClient({ databaseUrl: db.url, codec });
  const seen: string[] = [];
  await using _ = await startWorker(db.url, [handle(job, ({ input }) => void seen.push(input.to))], { codec });
  const { id } = await client.enqueue(job, { to: "ann@example.com" }, { tenant: "acme" });
  await client.result(id);
  const edited = await client.jobs.rerun(id, { input: { to: "bob@example.com" }, definition: job });
  await client.result(edited.id);
  const same = await client.jobs.rerun(id, { definition: job });
  await client.result(same.id);
  expect(seen).toEqual(["ann@example.com", "bob@example.com", "ann@example.com"]);
  const rows = await db.query<{ row: string }>("select h::text as row from fairmill.job_history h");
  for (const { row } of rows) expect(row).not.toContain("example.com");
});
