// F10: `verify` finds each planted violation of each invariant, and nothing else, while others work.
import { createClient, createWorker, defineJob, handle } from "fairmill";
import type pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { Database } from "../../src/db/database.js";
import { INVARIANTS } from "../../src/verify/invariants.js";
import { type VerifyOptions, verify } from "../../src/verify/verify.js";
import { cli, jsonOf } from "../cli/cli.js";
import { freshDatabase, useDatabase } from "../support/database.js";
import { openPool } from "../support/open-pool.js";
import { checkQuiet } from "../support/quiet.js";
import { PLANTS } from "./plants.js";

const QUICK = { clock: systemClock, looks: 1 } satisfies VerifyOptions;

/** Whatever keeps such rows out of a real database: what a bug would have got past, or an operator has dropped. */
const WITHOUT_GUARDS = `do $$
declare
  v record;
begin
  for v in select c.conrelid::regclass as t, c.conname from pg_constraint c join pg_class r on r.oid = c.conrelid
    where c.connamespace = 'fairmill'::regnamespace and c.contype in ('c', 'u') and c.coninhcount = 0 loop
    execute format('alter table %s drop constraint %I', v.t, v.conname);
  end loop;
  for v in select i.indexrelid::regclass as name from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relnamespace = 'fairmill'::regnamespace and i.indisunique and not i.indisprimary and not exists (
      select from pg_constraint o where o.conindid = i.indexrelid) loop
    execute format('drop index %s', v.name);
  end loop;
end
$$`;

describe("planted violations", () => {
  let fresh: Awaited<ReturnType<typeof freshDatabase>>;
  let pool: pg.Pool;
  let db: Database;
  beforeAll(async () => {
    fresh = await freshDatabase();
    pool = openPool({ connectionString: fresh.url, max: 2 });
    db = new Database({ databaseUrl: fresh.url }, { connectionsMax: 2, applicationName: "verify" });
    await pool.query(WITHOUT_GUARDS);
  });
  beforeEach(async () => {
    const tables =
      "job, job_history, worker, claim_list, step, limit_setting, meter, key_limit, key_limit_report, account, credit_entry, credit_pending, outbox, batch, batch_edge, batch_hold, provider, provider_share, provider_charge, provider_cost";
    await pool.query(`truncate ${tables.replaceAll(/\w+/g, "fairmill.$&")}`);
  });
  afterAll(async () => {
    await db.close();
    await pool.end();
    await fresh.drop();
  });

  test("an empty database breaks nothing", async () => {
    expect((await verify(db, QUICK)).filter(({ broken }) => broken.length > 0)).toEqual([]);
  });

  test.each(INVARIANTS.map(({ id, sentence, needsUpkeep = false }) => [id, sentence, needsUpkeep] as const))(
    "%s: %s",
    async (id, sentence, needsUpkeep) => {
      const plant = PLANTS[sentence];
      expect(plant, "there is a plant for every invariant").toBeDefined();
      await pool.query(plant!.sql);
      // In parts of one row as well: what the parts are is no matter.
      for (const rowsMax of [5_000, 1]) {
        const found = await verify(db, { ...QUICK, rowsMax });
        const of = found.find((each) => each.sentence === sentence)!;
        expect(of.broken.toSorted()).toEqual(plant!.found);
        expect(of.unanswered).toEqual([]);
      }
      // What the tests ask after each of them finds it too; a database that stands still has no upkeep.
      const asked = checkQuiet(pool).then(
        () => "",
        (error: Error) => error.message,
      );
      if (needsUpkeep) expect(await asked).not.toContain(sentence);
      else expect(await asked).toContain(`${id} is broken (${sentence}) by ${plant!.found.join(", ")}`);
    },
  );

  test("what is over at the second look was in the middle of something, and is not said", async () => {
    await pool.query(PLANTS["a job is live or ended, never both"]!.sql);
    const invariants = INVARIANTS.filter(({ id }) => id === "D1");
    const pausing = {
      ...systemClock,
      after: (_: number, then: () => void) => {
        void pool.query("delete from fairmill.job").then(then);
        return () => {};
      },
    };
    const [seen] = await verify(db, { clock: pausing, invariants });
    expect(seen!.broken).toEqual([]);
  });

  test("a part that takes too long is halved; a row that still does is said, and the walk goes on", async () => {
    await pool.query(
      Array.from(
        { length: 30 },
        (_, n) =>
          `insert into fairmill.batch (id, root, state, tenant) overriding system value values (${n + 1}, ${n + 1}, 'pending', 't')`,
      ).join(";"),
    );
    const slow = {
      id: "slow",
      sentence: "a row of which a question takes for ever",
      walk: "batch",
      query: `select b.id from fairmill.batch b where b.id > $1 and ($2::bigint is null or b.id <= $2)
        and case when b.id = 7 then pg_sleep(600) is not null else b.id = 20 end`,
    } as const;
    const [seen] = await verify(db, { ...QUICK, invariants: [slow], statementMsMax: 200 });
    expect(seen!.broken).toEqual(["20"]);
    expect(seen!.unanswered).toEqual([{ after: "6", until: "7" }]);
  });
});

describe("a live database", () => {
  const live = useDatabase();
  const work = defineJob({
    kind: "work",
    limits: { active: 2 },
    key: (input: { n: number }) => String(input.n % 7),
    retry: { attempts: 2, backoff: () => 1 },
  });

  test("breaks nothing while workers claim, fail, retry and settle", async () => {
    const client = createClient({ databaseUrl: live.url });
    const handlers = [
      handle(work, ({ input, attempt }) => {
        if (input.n % 3 === 0 && attempt === 1) throw new Error("again");
      }),
    ];
    const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
    const worker = await createWorker({ databaseUrl: live.url, handlers, concurrency: 20, logger: quiet }).start();
    let isDone = false;
    const feeding = client.enqueueMany(
      work,
      Array.from({ length: 1_500 }, (_, n) => ({ input: { n }, tenant: `t${n % 5}` })),
    );
    const drained = feeding.then(async (stored) => {
      await Promise.all(stored.map(({ id }) => client.result(id, { timeout: "60s" })));
      isDone = true;
    });
    const db = new Database({ databaseUrl: live.url }, { connectionsMax: 2, applicationName: "verify" });
    let rounds = 0;
    do {
      const found = await verify(db, { clock: systemClock, rowsMax: 300, pauseMs: 100 });
      expect(found.filter(({ broken, unanswered }) => broken.length + unanswered.length > 0)).toEqual([]);
      rounds++;
    } while (!isDone);
    await drained;
    expect(rounds).toBeGreaterThan(0);
    await worker.stop();
    await client.close();
    await db.close();
  });

  test("the command says that all hold, or which does not, and which rows break it", async () => {
    const env = { DATABASE_URL: live.url };
    const sound = await cli(["verify"], { env });
    expect(sound).toMatchObject({ code: 0, stdout: `All ${INVARIANTS.length} invariants hold.\n` });
    await live.query(
      "insert into fairmill.job (kind, queue, tenant, state, payload, attempt, lease_no) values ('k', 'q', 't', 'ready', '{}', 9, 9)",
    );
    const [row] = await live.query<{ id: string }>("select id from fairmill.job");
    try {
      const broken = await cli(["verify", "D4", "D1"], { env });
      expect(broken.code).toBe(1);
      expect(broken.stdout).toBe(
        `D4 is broken: attempts of a live job stay within the allowance.\n   by ${row!.id}\n2 of 3 invariants hold.\n`,
      );
      const json = jsonOf<{ holds: boolean; invariants: { id: string; broken: string[] }[] }>(
        await cli(["verify", "D4", "--json"], { env }),
      );
      expect(json.holds).toBe(false);
      expect(json.invariants[0]).toMatchObject({ id: "D4", broken: [row!.id] });
    } finally {
      await live.query("delete from fairmill.job");
    }
    const unknown = await cli(["verify", "X9"], { env });
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('There is no invariant "X9"');
  });
});
