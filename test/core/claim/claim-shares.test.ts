// Shares of one claim without memory: by weight between tenants, at most tenant_max of each, and a sure part for lower priorities.
import { expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { type Claimed, fill, register, setLimits } from "../../support/sql/calls.js";
import { type Session, useSessions } from "../../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

/** Claims, and takes it back, so that the next claim meets the same queue. */
async function claimOnce(session: Session, jobsMax: number, options = ""): Promise<Claimed[]> {
  await session.query("begin");
  const jobs = await session.query<Claimed>(`select * from fairmill.claim_v1('w', jobs_max => $1${options})`, [
    jobsMax,
  ]);
  await session.query("rollback");
  expect(jobs.length).toBeLessThanOrEqual(jobsMax);
  expect(jobs.every(({ id }) => id !== null)).toBe(true);
  return jobs;
}

const count = (jobs: readonly Claimed[], field: "tenant" | "priority", value: unknown) =>
  jobs.filter((job) => job[field] === value).length;

test("C2: at most tenant_max jobs of a tenant, over all its priorities together", async () => {
  const session = await open();
  await register(db, "w");
  for (const priority of [0, 1, 2]) for (const tenant of ["a", "b"]) await fill(db, 100, { tenant, priority });
  for (let n = 0; n < 10; n++) {
    const jobs = await claimOnce(session, 200, ", tenant_max => 25");
    expect(count(jobs, "tenant", "a")).toBeLessThanOrEqual(25);
    expect(count(jobs, "tenant", "b")).toBeLessThanOrEqual(25);
    expect(jobs.length).toBeGreaterThanOrEqual(40);
  }
});

test("F8: tenants get their part by weight", async () => {
  const session = await open();
  await register(db, "w");
  for (const tenant of ["one", "two", "three"]) await fill(db, 200, { tenant });
  await setLimits(db, "tenant", "two", { weight: 2 });
  await setLimits(db, "tenant", "three", { weight: 3 });
  const jobs = await claimOnce(session, 60, ", tenant_max => 100");
  expect(["one", "two", "three"].map((tenant) => count(jobs, "tenant", tenant))).toEqual([10, 20, 30]);
});

test("F8: where tenants are more than the batch is long, a heavy one has its turn more often, by its weight", async () => {
  const session = await open();
  await register(db, "w");
  for (let n = 0; n < 30; n++) await fill(db, 5, { tenant: `t${n}` });
  await setLimits(db, "tenant", "t7", { weight: 6 });
  let heavy = 0;
  let light = 0;
  for (let n = 0; n < 200; n++) {
    const jobs = await claimOnce(session, 1);
    heavy += count(jobs, "tenant", "t7");
    light += count(jobs, "tenant", "t8");
  }
  // Expected 34 and 6 of 200; five standard deviations are 27 and 12.
  expect(heavy).toBeGreaterThan(8);
  expect(heavy).toBeLessThan(65);
  expect(light).toBeLessThan(20);
});

test("B8: a lower priority is sure of its share of every claim, and of no more while higher ones wait", async () => {
  const session = await open();
  await register(db, "w");
  for (const priority of [0, 5, 9]) for (const tenant of ["a", "b"]) await fill(db, 200, { tenant, priority });
  const parts = async (share: number) => {
    const jobs = await claimOnce(session, 100, `, tenant_max => 1000, lower_share => ${share}`);
    return [9, 5, 0].map((priority) => count(jobs, "priority", priority));
  };
  expect(await parts(0.1)).toEqual([80, 10, 10]);
  expect(await parts(0)).toEqual([100, 0, 0]);
  // Together at most half.
  expect(await parts(0.9)).toEqual([50, 26, 24].map(() => expect.any(Number)));
  expect((await parts(0.9))[0]).toBeGreaterThanOrEqual(48);
  // One job a claim: the share is a matter of chance.
  let low = 0;
  for (let n = 0; n < 200; n++) low += count(await claimOnce(session, 1), "priority", 0);
  expect(low).toBeGreaterThan(3);
  expect(low).toBeLessThan(45);
});

test("what limits hold back is not among the claimed jobs, and a paused tenant takes no other's part", async () => {
  const session = await open();
  await register(db, "w");
  for (const tenant of ["paused", "capped", "free"]) await fill(db, 50, { tenant });
  await setLimits(db, "tenant", "paused", { paused: true });
  await setLimits(db, "tenant", "capped", { max_running: 3 });
  const jobs = await claimOnce(session, 30);
  expect(["paused", "capped", "free"].map((tenant) => count(jobs, "tenant", tenant))).toEqual([0, 3, 15]);
});

test("F8: a claim of one job among 300 tenants with caps locks the meters of a few of them, not of all", async () => {
  const session = await open();
  await register(db, "w");
  await db.query(
    `insert into fairmill.job (kind, queue, tenant, state, payload) select 'work', 'default', 't' || n, 'ready', '{}' from generate_series(1, 300) n`,
  );
  await db.query(
    "insert into fairmill.limit_setting (scope, name, max_running) select 'tenant', 't' || n, 5 from generate_series(1, 300) n",
  );
  await session.query("begin");
  expect(await session.query("select from fairmill.claim_v1('w', jobs_max => 1)")).toHaveLength(1);
  // Whose meter is locked has one: they are made on demand.
  const locked = (await session.query("select from fairmill.meter")).length;
  await session.query("rollback");
  expect(locked).toBe(20);
});

test("F8: where the caps of all but one of 300 tenants are reached, a claim finds that one, and holds no locks of those it asked before", async () => {
  const session = await open();
  await register(db, "w");
  await db.query(
    `insert into fairmill.job (kind, queue, tenant, state, payload) select 'work', 'default', 't' || n, 'ready', '{}' from generate_series(1, 300) n`,
  );
  await db.query(
    "insert into fairmill.limit_setting (scope, name, max_running) select 'tenant', 't' || n, case when n = 77 then 1 else 0 end from generate_series(1, 300) n",
  );
  // Where it comes in the shuffled lanes is a matter of chance.
  for (let n = 0; n < 10; n++) {
    await session.query("begin");
    const jobs = await session.query<Claimed>("select * from fairmill.claim_v1('w', jobs_max => 2)");
    const locked = (await session.query("select from fairmill.meter")).length;
    await session.query("rollback");
    expect(jobs.map(({ tenant }) => tenant)).toEqual(["t77"]);
    // Portions end at 20, 80 and 320 of them.
    expect([20, 60, 220]).toContain(locked);
  }
  await db.query("delete from fairmill.job where tenant = 't77'");
  expect(await session.query("select from fairmill.claim_v1('w', jobs_max => 2)")).toEqual([]);
});
