// Limits for tests of the memory side: functions around the real ones in the test's own database, which hold back what a table says and
// report it in the words of the real ones. They count without locks: good for one claim at a time.
import { beforeAll, beforeEach } from "vitest";
import type { Held } from "../../src/model/held.js";
import type { TestDatabase } from "./database.js";

const SIGNATURES = {
  claim_lanes_v1: `worker_id text, queues text[], priorities smallint[], tenants text[], floors bigint[], quanta integer[], kinds text[],
    jobs_max integer, durable boolean default true`,
  lanes_v1:
    "queue_name text, after_priority smallint default null, after_tenant text default null, lanes_max integer default 5000",
  news_v1: "queues text[], tail bigint, jobs_max integer default 200",
} as const;

/** A cap counts running jobs; without one nothing passes. */
const WRAPPERS = `
  create table public.test_limit (scope text, name text, why text, open_in_ms double precision, cap integer, primary key (scope, name));
  create table public.test_weight (tenant text primary key, weight double precision);

  create function public.test_room(the_scope text, the_name text) returns integer language sql as $$
    select greatest(0, coalesce(l.cap, 0) - (select count(*) from fairmill.job j where j.state = 'running'
      and l.name = case l.scope when 'queue' then j.queue when 'kind' then j.kind else j.tenant end))::integer
    from public.test_limit l where l.scope = the_scope and l.name = the_name $$;

  create function fairmill.claim_lanes_v1(${SIGNATURES.claim_lanes_v1})
  returns table (id bigint, lease_no integer, priority smallint, tenant text, kind text, key text, attempt smallint, crashes smallint,
                 max_attempts smallint, payload jsonb) language plpgsql as $$
  #variable_conflict use_column
  declare
    given integer := 0;
    room integer;
    more integer;
    wanted integer;
    one text;
    free_kinds text[] := kinds;
    held text[] := '{}';
  begin
    foreach one in array kinds loop
      if public.test_room('kind', one) = 0 then
        free_kinds := array_remove(free_kinds, one);
        held := held || ('kind ' || one);
      end if;
    end loop;
    for i in 1 .. cardinality(queues) loop
      wanted := least(quanta[i], jobs_max - given);
      exit when wanted = 0;
      room := coalesce(public.test_room('queue', queues[i]), wanted);
      if room < wanted then held := held || ('queue ' || queues[i]); end if;
      wanted := least(wanted, room);
      room := coalesce(public.test_room('tenant', tenants[i]), wanted);
      if room < wanted then held := held || ('tenant ' || tenants[i]); end if;
      wanted := least(wanted, room);
      return query select r.id, r.lease_no, r.priority, r.tenant, r.kind, r.key, r.attempt, r.crashes, r.max_attempts, r.payload
        from fairmill.real_claim_lanes_v1(worker_id, queues[i:i], priorities[i:i], tenants[i:i], floors[i:i], array[wanted], free_kinds,
          wanted, durable) r where wanted > 0 and r.id is not null;
      get diagnostics more = row_count;
      given := given + more;
    end loop;
    if cardinality(held) > 0 then
      return query select null::bigint, null::integer, null::smallint, null, null, null, null::smallint, null::smallint, null::smallint,
        (select jsonb_build_object('held', jsonb_agg(jsonb_build_object(
          'scope', l.scope, 'name', l.name, 'why', l.why, 'open_in_ms', l.open_in_ms)))
         from public.test_limit l where l.scope || ' ' || l.name = any (held));
    end if;
  end $$;

  create function fairmill.lanes_v1(${SIGNATURES.lanes_v1}) returns table (priority smallint, tenant text, weight double precision)
  language sql stable as $$
    select r.priority, r.tenant, coalesce(w.weight, 1)
    from fairmill.real_lanes_v1(queue_name, after_priority, after_tenant, lanes_max) r left join public.test_weight w using (tenant)
    order by 1 desc, 2 desc $$;

  create function fairmill.news_v1(${SIGNATURES.news_v1})
  returns table (queue text, priority smallint, tenant text, weight double precision, id bigint, rescan_no bigint, is_full boolean)
  language sql stable as $$
    select r.queue, r.priority, r.tenant, case when r.tenant is not null then coalesce(w.weight, 1) end, r.id, r.rescan_no, r.is_full
    from fairmill.real_news_v1(queues, tail, jobs_max) r left join public.test_weight w using (tenant) $$;
`;

export function useLimits(db: TestDatabase) {
  beforeAll(async () => {
    for (const name of Object.keys(SIGNATURES)) {
      const [row] = await db.query("select p.oid::regprocedure::text as f from pg_proc p where proname = $1", [name]);
      await db.query(`alter function ${row!["f"]} rename to real_${name}`);
    }
    await db.query(WRAPPERS);
  });
  beforeEach(async () => {
    await db.query("delete from public.test_limit");
    await db.query("delete from public.test_weight");
  });
  return {
    /** Without `cap` nothing passes. */
    async hold(scope: Held["scope"], name: string, limit: { why?: Held["why"]; openInMs?: number; cap?: number } = {}) {
      await db.query(
        `insert into public.test_limit values ($1, $2, $3, $4, $5)
         on conflict (scope, name) do update set why = excluded.why, open_in_ms = excluded.open_in_ms, cap = excluded.cap`,
        [scope, name, limit.why ?? "cap", limit.openInMs ?? null, limit.cap ?? null],
      );
    },
    async release() {
      await db.query("delete from public.test_limit");
    },
    async weigh(tenant: string, weight: number) {
      await db.query(
        "insert into public.test_weight values ($1, $2) on conflict (tenant) do update set weight = excluded.weight",
        [tenant, weight],
      );
    },
  };
}
