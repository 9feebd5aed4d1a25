// The life of jobs against a small model of it: random sequences of everything that can happen to a job, told to the model and to the
// real SQL functions, compared after every step. Crashes, stale settles and repeated settles are ordinary steps.
import fc from "fast-check";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { CRASHES_MAX, Model, type Verdict } from "./job-model.js";

const db = useDatabase();
const RUNS = 60;
const COMMANDS_MAX = 80;
const TENANTS = ["a", "b"];

/** Everything that the database knows of the jobs, in the model's words. */
async function compare(model: Model): Promise<void> {
  const columns =
    "id, state, attempt, crashes, lease_no, worker, coalesce(jsonb_array_length(failures), 0) as failures";
  const rows = await db.query(
    `select ${columns} from fairmill.job union all select ${columns} from fairmill.job_history order by id`,
  );
  expect(rows.map((row) => ({ ...row, id: Number(row["id"]), lease_no: Number(row["lease_no"]) }))).toEqual(
    model.jobs.map(({ id, state, attempt, crashes, leaseNo, worker, failures }) => ({
      id,
      state,
      attempt,
      crashes,
      lease_no: leaseNo,
      worker,
      failures: failures.length,
    })),
  );
}

type Command = fc.AsyncCommand<Model, object>;

/** A step: what is done to the database, and what the model says must come of it. */
const step = (
  name: string,
  run: (model: Model) => Promise<void>,
  check: (model: Model) => boolean = () => true,
): Command => ({
  check,
  run: async (model) => {
    await run(model);
    await compare(model);
  },
  toString: () => name,
});
const hasJobs = (model: Model) => model.jobs.length > 0;
const pick = <T>(list: readonly T[], n: number): T => list[n % list.length]!;

const enqueue = fc
  .record({ tenant: fc.constantFrom(...TENANTS), isLater: fc.boolean(), attempts: fc.integer({ min: 1, max: 3 }) })
  .map(({ tenant, isLater, attempts }) =>
    step(`enqueue(${tenant}${isLater ? ", later" : ""})`, async (model) => {
      const [row] = await db.query(
        "select id from fairmill.enqueue_v1('k', tenant => $1, delay => $2::interval, max_attempts => $3, expire => '1 day')",
        [tenant, isLater ? "1 hour" : null, attempts],
      );
      model.jobs.push({
        id: Number(row!["id"]),
        tenant,
        state: isLater ? "scheduled" : "ready",
        turn: model.nextTurn(),
        attempt: 0,
        crashes: 0,
        leaseNo: 0,
        worker: null,
        isCancelAsked: false,
        isOverdue: false,
        failures: [],
      });
    }),
  );

const claim = fc
  .record({ worker: fc.nat({ max: 2 }), jobsMax: fc.integer({ min: 1, max: 4 }) })
  .map(({ worker, jobsMax }) =>
    step(`claim(w${worker}, ${jobsMax})`, async (model) => {
      const name = model.nameOf(worker);
      const rows = await db.query(
        "select id, lease_no, attempt, tenant from fairmill.claim_lanes_v1($1, '{default,default}', '{0,0}', $2, '{0,0}', $3, null, $4)",
        [name, TENANTS, [jobsMax, jobsMax], jobsMax],
      );
      const leases = new Map(rows.map((row) => [Number(row["id"]), Number(row["lease_no"])]));
      const due = TENANTS.flatMap((tenant) =>
        model.jobs
          .filter((job) => job.state === "ready" && job.tenant === tenant && !job.isOverdue)
          .toSorted((a, b) => a.turn - b.turn)
          .slice(0, jobsMax),
      ).slice(0, jobsMax);
      for (const job of due) {
        model.become(job, "running");
        job.worker = name;
        const leaseNo = leases.get(job.id) ?? 0;
        expect(leaseNo).toBeGreaterThan(job.leaseNo);
        job.leaseNo = leaseNo;
        job.attempt++;
        model.leases.push({ job, leaseNo: job.leaseNo, worker: name });
      }
      const told = rows.map((row) => [Number(row["id"]), Number(row["lease_no"]), row["attempt"]]);
      expect(told.sort((a, b) => a[0]! - b[0]!)).toEqual(
        due.map((job) => [job.id, job.leaseNo, job.attempt]).sort((a, b) => a[0]! - b[0]!),
      );
    }),
  );

/** Any lease that was ever given out, mostly a late one: some hold, some are stale, some were settled before. */
const settle = fc
  .record({
    lease: fc.nat(),
    verdict: fc.constantFrom<Verdict>("done", "dead", "cancelled", "retry", "snooze", "release"),
    times: fc.constantFrom(1, 1, 2),
  })
  .map(({ lease: n, verdict, times }) =>
    step(
      `settle(#${n}, ${verdict}${times > 1 ? ", twice" : ""})`,
      async (model) => {
        const lease = pick(model.leases, n);
        const error = { message: "no" };
        const details = JSON.stringify([
          verdict === "retry" || verdict === "dead" ? { error, delay_ms: 3_600_000 } : { delay_ms: 3_600_000 },
        ]);
        for (let i = 0; i < times; i++) {
          const isAccepted = model.isHeld(lease) || model.wasSettled(lease, verdict);
          if (model.isHeld(lease)) model.settle(lease, verdict);
          const [row] = await db.query(
            "select accepted, refused from fairmill.settle_v1($1, array[$2::bigint], array[$3::bigint], array[$4], $5)",
            [lease.worker, lease.job.id, lease.leaseNo, verdict, details],
          );
          expect(row).toEqual(
            isAccepted ? { accepted: 1, refused: [] } : { accepted: 0, refused: [String(lease.job.id)] },
          );
          await compare(model);
        }
      },
      (model) => model.leases.length > 0,
    ),
  );

const crash = fc.nat({ max: 2 }).map((worker) =>
  step(`crash(w${worker})`, async (model) => {
    const name = model.nameOf(worker);
    model.crash(name);
    model.workers[worker]!++;
    await db.query("update fairmill.worker set lease_until = now() - interval '1 second' where id = $1", [name]);
    await db.query("select fairmill.recover_v1(1000, $1)", [CRASHES_MAX]);
    await db.query("select fairmill.register_v1($1, '{default}', '1 hour')", [model.nameOf(worker)]);
  }),
);

/** The answer to a claim was lost: the worker gives back what it does not know, here everything of one tenant. */
const forget = fc
  .record({ worker: fc.nat({ max: 2 }), tenant: fc.constantFrom(...TENANTS) })
  .map(({ worker, tenant }) =>
    step(`forget(w${worker}, ${tenant})`, async (model) => {
      const name = model.nameOf(worker);
      const held = model.jobs.filter((job) => job.state === "running" && job.worker === name);
      const known = held.filter((job) => job.tenant !== tenant).map(({ id }) => id);
      for (const job of held.filter((each) => each.tenant === tenant)) {
        model.become(job, "ready");
        job.attempt--;
      }
      await db.query("select fairmill.release_unknown_v1($1, $2)", [name, known]);
      for (const job of held.filter((each) => each.tenant === tenant)) {
        const [row] = await db.query("select lease_no from fairmill.job where id = $1", [job.id]);
        expect(Number(row!["lease_no"])).toBeGreaterThan(job.leaseNo);
        job.leaseNo = Number(row!["lease_no"]);
      }
    }),
  );

const cancel = fc.nat().map((n) =>
  step(
    `cancel(#${n})`,
    async (model) => {
      const job = pick(model.jobs, n);
      const expected = ["done", "dead", "cancelled"].includes(job.state)
        ? "ended"
        : job.state === "running"
          ? "requested"
          : "cancelled";
      if (expected === "requested") job.isCancelAsked = true;
      if (expected === "cancelled") model.become(job, "cancelled");
      const [row] = await db.query("select fairmill.cancel_v1($1) as answer", [job.id]);
      expect(row!["answer"]).toBe(expected);
    },
    hasJobs,
  ),
);

const retry = fc.nat().map((n) =>
  step(
    `retry(#${n})`,
    async (model) => {
      const job = pick(model.jobs, n);
      if (job.state === "dead" || job.state === "cancelled") {
        Object.assign(job, { attempt: 0, crashes: 0, isCancelAsked: false, isOverdue: false });
        model.become(job, "ready");
      } else if (job.state === "scheduled") model.become(job, "ready");
      const [row] = await db.query("select fairmill.retry_v1($1) as answer", [job.id]);
      expect(row!["answer"]).toBe(job.state);
    },
    hasJobs,
  ),
);

const promote = fc.nat().map((n) =>
  step(
    `promote(#${n})`,
    async (model) => {
      const job = pick(model.jobs, n);
      await db.query(
        "update fairmill.job set run_at = now() - interval '1 second' where id = $1 and state = 'scheduled'",
        [job.id],
      );
      const [row] = await db.query("select fairmill.promote_v1() as n");
      expect(row!["n"]).toBe(job.state === "scheduled" ? 1 : 0);
      if (job.state === "scheduled") model.become(job, "ready");
    },
    hasJobs,
  ),
);

const expire = fc.nat().map((n) =>
  step(
    `expire(#${n})`,
    async (model) => {
      const chosen = pick(model.jobs, n);
      const rows = await db.query(
        "update fairmill.job set expire_at = now() - interval '1 second' where id = $1 and expire_at is not null returning id",
        [chosen.id],
      );
      if (rows.length > 0) chosen.isOverdue = true;
      await db.query("select fairmill.expire_v1()");
      for (const job of model.jobs)
        if (job.isOverdue && (job.state === "ready" || job.state === "scheduled")) model.become(job, "dead");
    },
    hasJobs,
  ),
);

test("I1 I2 I10: whatever happens in whatever order, the database and the model agree on every job", async () => {
  const seed = Number(process.env["TEST_SEED"] ?? Date.now() % 1_000_000);
  console.log(`seed ${seed}`);
  let steps = 0;
  await fc.assert(
    fc.asyncProperty(
      // Twice in the list: enqueues, claims and settles make up most of a life.
      fc.commands(
        [enqueue, enqueue, claim, claim, settle, settle, settle, crash, forget, cancel, retry, promote, expire],
        {
          maxCommands: COMMANDS_MAX,
          size: "max",
        },
      ),
      async (commands) => {
        await db.query("delete from fairmill.job");
        await db.query("delete from fairmill.job_history");
        await db.query("delete from fairmill.worker");
        const model = new Model();
        for (const worker of [0, 1, 2])
          await db.query("select fairmill.register_v1($1, '{default}', '1 hour')", [model.nameOf(worker)]);
        await fc.asyncModelRun(() => ({ model, real: {} }), commands);
        steps += [...commands].length;
        for (const job of model.jobs) expect(job.leaseNo).toBeGreaterThanOrEqual(job.attempt);
      },
    ),
    { numRuns: RUNS, seed, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: false },
  );
  console.log(`${steps} steps`);
  expect(steps).toBeGreaterThan(100);
});
