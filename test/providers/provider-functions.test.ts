// The shared state of a provider, by SQL alone.
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";

const database = useDatabase();

const PIXIAN = {
  ...{ name: "pixian", per_second: null, in_flight: 2, timeout_ms: 1000, currency: "USD" },
  ...{ breaker_rate: 0.5, breaker_calls: 4, breaker_window_ms: 60_000, breaker_open_ms: 60_000 },
};

const define = (settings: object = {}) =>
  database.query("select fairmill.define_providers_v1($1, $2)", [
    JSON.stringify([{ ...PIXIAN, ...settings }]),
    JSON.stringify({ sticker: [["pixian"]] }),
  ]);
const register = (worker: string) =>
  database.query("select fairmill.register_v1($1, queues => '{default}', kinds => '{sticker}')", [worker]);

interface Answer {
  at: number;
  permits?: number;
  starts?: number[];
  closed_why?: string;
  closed_in_ms?: number;
  probe_no?: number;
  others_wait: boolean;
  unknown?: boolean;
}
async function sync(worker: string, facts: object): Promise<Answer> {
  const [row] = await database.query<{ answer: Answer }>(
    "select fairmill.sync_provider_v1('pixian', $1, $2) as answer",
    [worker, JSON.stringify(facts)],
  );
  return row!.answer;
}
const wants = (count: number, held = 0) => ({ held, waiting: count, wanted: count });
const letTimePass = () =>
  database.query(
    "update fairmill.provider set closed_until = now() - interval '1 ms', try_until = null, probe_until = probe_until - interval '1 hour'",
  );
const eventsOf = async () =>
  (await database.query<{ event: string }>("select event from fairmill.provider_event order by id")).map(
    (r) => r.event,
  );

test("a provider that no worker has defined is unknown", async () => {
  expect(await sync("a", wants(1))).toEqual({ unknown: true });
});

test("permits in flight are never more than the limit, and those of a worker that is not alive come back", async () => {
  await define();
  await register("a");
  await register("b");
  expect((await sync("a", wants(5))).permits).toBe(2);
  expect((await sync("b", wants(1))).permits).toBe(0);
  await database.query("update fairmill.worker set lease_until = now() - interval '1 s' where id = 'a'");
  expect((await sync("b", wants(1))).permits).toBe(1);
});

test("where workers wait, each gets a part, and one that has had its turn leaves the rest to others", async () => {
  await define();
  await register("a");
  await register("b");
  expect((await sync("a", wants(5))).permits).toBe(2);
  expect((await sync("b", wants(5))).permits).toBe(0);
  // One of its calls is over: while its turn lasts it may go on with its part, which is one.
  expect((await sync("a", wants(4, 1))).permits).toBe(1);
  expect((await sync("b", wants(5))).permits).toBe(1);
  await database.query("update fairmill.provider_share set turn_until = now() - interval '1 s'");
  await database.query("update fairmill.provider_share set permits = 0, served_at = '-infinity' where worker = 'b'");
  expect((await sync("a", { ...wants(4), held: 0 })).permits).toBe(1);
});

test("calls with a pace begin no closer than the limit and four per cent, whichever worker asks", async () => {
  await define({ per_second: 20, in_flight: null });
  await register("a");
  await register("b");
  const starts = [...(await sync("a", wants(3))).starts!, ...(await sync("b", wants(4))).starts!];
  expect(starts).toHaveLength(7);
  for (let n = 1; n < starts.length; n++) expect(starts[n]! - starts[n - 1]!).toBeCloseTo(52, 1);
  // Not further ahead than half a second.
  for (let times = 0; times < 2; times++) {
    const { at, starts: rest } = await sync("a", wants(100));
    for (const start of rest!) expect(start - at).toBeLessThanOrEqual(500);
  }
});

test("a call that came late puts off what follows", async () => {
  await define({ per_second: 20, in_flight: null });
  await register("a");
  const [first] = (await sync("a", wants(1))).starts!;
  const [second] = (await sync("a", { ...wants(1), late: [{ of: first, ms: 30 }] })).starts!;
  expect(second! - first!).toBeCloseTo(82, 1);
});

test("failures trip the breaker once, one probe finds out, and a result that comes too late changes nothing", async () => {
  await define({ in_flight: null });
  await register("a");
  await register("b");
  await sync("a", { ...wants(0), ok: 1, failed: 2 });
  expect((await sync("b", { ...wants(1), failed: 2 })).closed_why).toBe("breaker");
  expect((await sync("a", { ...wants(0), failed: 50 })).closed_why).toBe("breaker");
  expect(await eventsOf()).toEqual(["tripped"]);

  await letTimePass();
  const { probe_no: probe } = await sync("a", wants(3));
  expect(probe).toBe(1);
  expect((await sync("b", wants(3))).closed_why).toBe("breaker");
  expect((await sync("b", { ...wants(3), probe: "ok", probe_no: 1 })).closed_why).toBe("breaker");
  // The prober died: after its time another one may.
  await letTimePass();
  expect((await sync("b", wants(1))).probe_no).toBe(2);
  expect((await sync("a", { ...wants(0), probe: "ok", probe_no: 1 })).closed_why).toBe("breaker");
  expect((await sync("b", { ...wants(0), probe: "failed", probe_no: 2 })).closed_why).toBe("breaker");
  await letTimePass();
  expect((await sync("b", wants(1))).probe_no).toBe(3);
  expect((await sync("b", { ...wants(1), probe: "ok", probe_no: 3 })).closed_why).toBeUndefined();
  expect(await eventsOf()).toEqual(["tripped", "probing", "probing", "probe-failed", "probing", "recovered"]);
});

test("too few calls, or too few of them failed, trip nothing", async () => {
  await define({ in_flight: null });
  await register("a");
  await sync("a", { ...wants(0), failed: 3 });
  await sync("a", { ...wants(0), ok: 4 });
  expect(await eventsOf()).toEqual([]);
});

test("a limit that the provider named closes it for everybody, once, and no longer one shortens it", async () => {
  await define({ in_flight: null });
  await register("a");
  await register("b");
  await sync("a", { ...wants(0), limited_ms: 5_000, limited_by: "retry-after" });
  await sync("b", { ...wants(0), limited_ms: 1_000, limited_by: "retry-after" });
  const { closed_why, closed_in_ms } = await sync("b", wants(1));
  expect(closed_why).toBe("rate-limit");
  expect(closed_in_ms).toBeGreaterThan(4_000);
  expect(await eventsOf()).toEqual(["rate-limited"]);
  await letTimePass();
  expect((await sync("b", wants(1))).closed_why).toBeUndefined();
});

test("closed by hand it stays closed, whatever its calls say, until it is opened", async () => {
  await define({ in_flight: null });
  await register("a");
  await database.query("select fairmill.close_provider_v1('pixian', null, 'maintenance')");
  expect((await sync("a", { ...wants(1), limited_ms: 1 })).closed_why).toBe("hand");
  await sync("a", { ...wants(1), failed: 9 });
  expect((await sync("a", wants(1))).closed_why).toBe("hand");
  await database.query("select fairmill.open_provider_v1('pixian')");
  expect((await sync("a", wants(1))).closed_why).toBeUndefined();
  expect(await database.query("select fairmill.close_provider_v1('pixia') as found")).toEqual([{ found: false }]);
});

const enqueue = (count: number) =>
  database.query("select fairmill.enqueue_v1('sticker', '{}') from generate_series(1, $1)", [count]);
async function claim(worker: string): Promise<{ ids: string[]; held: { why: string; open_in_ms: number }[] }> {
  const rows = await database.query<{
    id: string | null;
    held_back: { limits: { why: string; open_in_ms: number }[] };
  }>(
    "select id::text as id, held_back from fairmill.claim_lanes_v1($1, '{default}', '{0}', '{default}', '{0}', '{10}', '{sticker}', 10)",
    [worker],
  );
  return { ids: rows.flatMap(({ id }) => id ?? []), held: rows.flatMap((row) => row.held_back?.limits ?? []) };
}

test("a claim takes no job of a kind whose provider is closed, says until when, and one when it may find out", async () => {
  await define({ in_flight: null });
  await register("a");
  await enqueue(5);
  await sync("a", { ...wants(0), limited_ms: 5_000 });
  const parked = await claim("a");
  expect(parked.ids).toEqual([]);
  expect(parked.held).toMatchObject([{ scope: "kind", name: "sticker", why: "provider" }]);
  expect(parked.held[0]!.open_in_ms).toBeGreaterThan(4_000);

  await database.query("select fairmill.open_provider_v1('pixian')");
  await sync("a", { ...wants(0), failed: 9 });
  expect((await claim("a")).ids).toEqual([]);
  await letTimePass();
  expect((await claim("a")).ids).toHaveLength(1);
  expect((await claim("a")).ids).toEqual([]);
  const [provider] = await database.query<{ probe_worker: string | null }>(
    "select probe_worker from fairmill.provider",
  );
  expect(provider!.probe_worker).toBeNull();
  expect((await sync("a", wants(1))).probe_no).toBe(1);
  await sync("a", { ...wants(0), probe: "ok", probe_no: 1 });
  expect((await claim("a")).ids).toHaveLength(4);
});

test("a chain is closed while all its providers are", async () => {
  await database.query("select fairmill.define_providers_v1($1, $2)", [
    JSON.stringify([PIXIAN, { ...PIXIAN, name: "local" }]),
    JSON.stringify({ sticker: [["pixian", "local"]] }),
  ]);
  await register("a");
  await enqueue(2);
  await database.query("select fairmill.close_provider_v1('pixian')");
  const why = async (id: string) =>
    (
      await database.query<{ passed: boolean; reason: string }>(
        "select passed, reason from fairmill.why_v1($1) where check_name = 'provider'",
        [id],
      )
    )[0]!;
  const [{ id } = { id: "" }] = await database.query<{ id: string }>("select id::text as id from fairmill.job limit 1");
  expect(await why(id)).toMatchObject({ passed: true });
  await database.query("select fairmill.close_provider_v1('local', now() + interval '1 hour', 'moving')");
  expect((await claim("a")).ids).toEqual([]);
  expect((await why(id)).reason).toMatch(
    /^The provider local is closed until 20.* \(by hand: moving\)\. The provider pixian is closed until it is opened \(by hand\)\.$/,
  );
  const backlog = await database.query("select reason, jobs from fairmill.backlog_v1(kinds_handled => '{sticker}')");
  expect(backlog).toEqual([{ reason: "provider closed", jobs: 2 }]);
  await database.query("select fairmill.open_provider_v1('local')");
  expect((await claim("a")).ids).toHaveLength(2);
});

test("a charge is counted once, however often it is written, and its end replaces what was expected", async () => {
  const begun = { job_id: 1, provider: "gemini", tenant: "acme", kind: "sticker", worker: "a", currency: "USD" };
  const charge = (begin: object[], end: object[]) =>
    database.query("select fairmill.charge_calls_v1($1, $2)", [JSON.stringify(begin), JSON.stringify(end)]);
  const sums = () => database.query("select calls::int as calls, cost::text as cost from fairmill.provider_cost");
  for (let times = 0; times < 2; times++)
    await charge(
      [
        { ...begun, id: "1", cost: 0.1 },
        { ...begun, id: "2", cost: 0.1 },
        { ...begun, id: "3", cost: 0.1 },
      ],
      [],
    );
  expect(await sums()).toEqual([{ calls: 3, cost: "0.3" }]);
  for (let times = 0; times < 2; times++)
    await charge(
      [],
      [
        { id: "1", state: "paid", cost: 0.25 },
        { id: "2", state: "void" },
        { id: "3", state: "unknown" },
      ],
    );
  expect(await sums()).toEqual([{ calls: 2, cost: "0.35" }]);
  expect(await database.query("select * from fairmill.provider_costs_v1(by => '{tenant,kind}')")).toMatchObject([
    { tenant: "acme", kind: "sticker", provider: null, calls: "2", cost: "0.35" },
  ]);
});
