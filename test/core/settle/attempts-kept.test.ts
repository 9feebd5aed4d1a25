// What is kept of attempts is bounded, in number and in bytes, wherever an entry is added: the list is rewritten with every attempt.
import { describe, expect, test } from "vitest";
import { claimsOf } from "../../../src/core/job/lease-no.js";
import { cli } from "../../cli/cli.js";
import { begin, claimDeliveries, publishOne } from "../../outbox/outbox-calls.js";
import { useDatabase } from "../../support/database.js";
import { claimNo } from "../../support/lease-no.js";
import { call, claim, ended, endLease, enqueueOne, live, recover, register, settle } from "../../support/sql/calls.js";

const db = useDatabase();

interface Entry {
  readonly attempt: number;
  readonly lease_no: number;
  readonly dropped?: number;
  readonly error: { readonly message: string; readonly stack?: string };
}
const ENTRIES_MAX = 50;
const BYTES_MAX = 65_536;
const bytesOf = async (id: string) =>
  (
    await db.query<{ bytes: number }>(
      "select octet_length(failures::text) as bytes from (select id, failures from fairmill.job union all select id, failures from fairmill.job_history) j where id = $1",
      [id],
    )
  )[0]!.bytes;
/** Of which claim of its job each is; numbers below zero are made up. */
const numbersOf = (entries: readonly Entry[]) =>
  entries.map(({ lease_no }) => (lease_no < 0 ? lease_no : claimsOf(lease_no)));
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

/** A job that runs again and again, with what each run comes to. */
async function runs(count: number, end: (n: number) => Promise<unknown>, id: string): Promise<void> {
  for (let n = 1; n <= count; n++) {
    await end(n);
    if (n < count) await call(db, "retry_v1($1)", [id]);
  }
}
async function retried(count: number, error: (n: number) => object): Promise<string> {
  await register(db, "w");
  const id = await enqueueOne(db, { max_attempts: 1000 });
  await runs(
    count,
    async (n) => settle(db, "w", await claim(db, "w"), "retry", [{ error: error(n), delay_ms: 60_000 }]),
    id,
  );
  return id;
}

describe("failures of a job", () => {
  test("A5: of 120 retries the first three and the last 47 are kept, and the gap is counted", async () => {
    const id = await retried(120, (n) => ({ message: `no ${n}` }));
    const failures = (await live(db, id))!.failures as unknown as Entry[];
    expect(numbersOf(failures)).toEqual([1, 2, 3, ...range(74, 120)]);
    expect(failures).toHaveLength(ENTRIES_MAX);
    expect(failures.filter(({ dropped }) => dropped !== undefined)).toMatchObject([
      { lease_no: claimNo(74), dropped: 70 },
    ]);
    // And it ends like any other, in one row more.
    await call(db, "retry_v1($1)", [id]);
    await settle(db, "w", await claim(db, "w"), "dead", [{ error: { message: "the end" } }]);
    const all = (await ended(db, id))!.failures as unknown as Entry[];
    expect(all).toHaveLength(ENTRIES_MAX);
    expect(all.at(-1)).toMatchObject({ lease_no: claimNo(121), error: { message: "the end" } });
    expect(all[3]).toMatchObject({ lease_no: claimNo(75), dropped: 71 });
  });

  test("large errors are kept within 64 KiB together, the last one whole", async () => {
    const stack = (n: number) => `${n}`.padEnd(20_000, "at somewhere ");
    const id = await retried(12, (n) => ({ message: `no ${n}`, stack: stack(n) }));
    expect(await bytesOf(id)).toBeLessThan(BYTES_MAX);
    const failures = (await live(db, id))!.failures as unknown as Entry[];
    expect(numbersOf(failures)).toEqual([1, 2, 12]);
    expect(failures.at(-1)).toMatchObject({ dropped: 9, error: { stack: stack(12) } });
  });

  test("errors of which one fills the room: the last one is whole, of the first the beginning of the message is left", async () => {
    const stack = "x".repeat(60_000);
    const id = await retried(4, (n) => ({ message: `no ${n}`, code: "E_NO", stack }));
    expect(await bytesOf(id)).toBeLessThan(BYTES_MAX);
    const failures = (await live(db, id))!.failures as unknown as Entry[];
    expect(failures).toMatchObject([
      { lease_no: claimNo(1), error: { message: "no 1", code: "E_NO" } },
      { lease_no: claimNo(4), dropped: 2, error: { message: "no 4", stack } },
    ]);
    expect(failures[0]!.error.stack).toBeUndefined();
  });

  test("workers that die leave as many, whether the job goes back or ends", async () => {
    const id = await enqueueOne(db, { max_attempts: 1000 });
    await db.query(
      `update fairmill.job set failures = (select jsonb_agg(jsonb_build_object('attempt', -n, 'lease_no', -n, 'error', '{}'::jsonb)) from generate_series(1, 3000) n)`,
    );
    for (const crashesMax of [1000, 1]) {
      await register(db, `w${crashesMax}`);
      await claim(db, `w${crashesMax}`);
      await endLease(db, `w${crashesMax}`);
      await recover(db, 1000, crashesMax);
    }
    const failures = (await ended(db, id))!.failures as unknown as Entry[];
    // A list from before the bound is cut by the next entry.
    expect(numbersOf(failures)).toEqual([-1, -2, -3, ...range(2956, 3000).map((n) => -n), 1, 2]);
    expect(failures[3]).toMatchObject({ dropped: 2952 });
  });

  test("`fairmill job` says how many are not kept", async () => {
    const id = await retried(53, (n) => ({ name: "Error", message: `no ${n}` }));
    const { stdout } = await cli(["job", id], { env: { DATABASE_URL: db.url } });
    expect(stdout).toMatch(/Error: no 3\n {2}… {2}3 attempts are not kept\n {2}7 {2}failed at /);
  });
});

test("C8: attempts to deliver a message are kept within the same bounds, and all of them are counted", async () => {
  await register(db, "w");
  const id = await publishOne(db, { max_attempts: 1000 });
  const error = { message: "m".repeat(2_000) };
  for (let n = 0; n < 60; n++) {
    const jobs = await claimDeliveries(db, "w");
    await begin(db, "w", jobs);
    const said = { outcome: "refused", error };
    await settle(
      db,
      "w",
      jobs,
      "retry",
      jobs.map(() => ({ error, delivery: said, delay_ms: 60_000 })),
    );
    for (const job of jobs) await call(db, "retry_v1($1)", [job.id]);
  }
  const [row] = await db.query<{ bytes: number; n: number }>(
    `select octet_length(attempts::text) as bytes, jsonb_array_length(attempts) + (jsonb_path_query_first(attempts, '$[*].dropped'))::integer as n
     from fairmill.outbox where id = $1`,
    [id],
  );
  expect(row!.bytes).toBeLessThan(BYTES_MAX + 3_000);
  expect(row!.n).toBe(60);
  // The sender is told the number of all of them.
  expect(await begin(db, "w", await claimDeliveries(db, "w"))).toMatchObject([{ tries: 61 }]);
  const { stdout } = await cli(["outbox", "get", String(id)], { env: { DATABASE_URL: db.url } });
  expect(stdout).toMatch(/… +\d+ attempts are not kept/);
});
