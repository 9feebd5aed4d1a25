-- What limits say to jobs that are about to be stored: their limit_key, whether they begin ready, blocked or scheduled, the place they
-- hold, and which of them are refused. Stores no job; what it spends of a rate is given back if the transaction fails.
--   jobs, shared  as enqueue_many_v1 got them;  created: null, or false for jobs that exist already and are to be left alone
--   alone         the transaction ends with this statement, so the locks of keys may be taken now. Otherwise a job that needs a place
--                 becomes scheduled for now, and whoever promotes it after the commit finds its place: no settle shall ever wait for
--                 a transaction of the caller.
--   partial       refuse those that must be refused and let the others in; false: all or nothing
--   known         refusals of those that something else refused already, or null
-- Result: the jobs with the fields limit_key, slot and state added; refusals, an object by position: {"3": {"code": …}}, or null.
-- Locks: meters of use enqueue by scope and name; with alone, meters of use start of the keys that wait.
create or replace function fairmill.gates_at_enqueue_v1(jobs jsonb, shared jsonb, created boolean[], alone boolean, partial boolean, known jsonb,
  out gated jsonb, out refusals jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_ns      integer[];
  v_queues  text[];
  v_kinds   text[];
  v_tenants text[];
  v_keys    text[];   -- limit keys; null: none
  v_due     boolean[];
  v_rules   text[];   -- what the key's rule asks for: wait | refuse; null: no place
  v_slots   integer[];
  v_states  text[];
begin
  select array_agg(given.n order by given.n), array_agg(given.queue order by given.n), array_agg(given.kind order by given.n),
         array_agg(given.tenant order by given.n), array_agg(given.limit_key order by given.n), array_agg(given.is_due order by given.n),
         array_agg(case when given.limit_key is not null then given.place end order by given.n)
    into v_ns, v_queues, v_kinds, v_tenants, v_keys, v_due, v_rules
  from (
    select said.n, said.queue, said.kind, said.tenant, said.is_due, case when rule.max_running is not null then rule.when_full end as place,
      case when rule.per = 'kind' then jsonb_build_array(said.kind)::text
           when rule.per = 'tenant' then jsonb_build_array(said.kind, said.tenant)::text
           when said.key is not null then jsonb_build_array(said.kind, said.tenant, said.key)::text end as limit_key
    from (select e.n::integer as n, coalesce(e.job ->> 'kind', shared ->> 'kind') as kind, coalesce(e.job ->> 'queue', shared ->> 'queue', 'default') as queue,
            coalesce(e.job ->> 'tenant', shared ->> 'tenant', 'default') as tenant, coalesce(e.job ->> 'key', shared ->> 'key') as key,
            coalesce((e.job ->> 'run_at')::timestamptz, now() + (e.job ->> 'delay_ms')::float8 * interval '1 millisecond',
              (shared ->> 'run_at')::timestamptz, now() + (shared ->> 'delay_ms')::float8 * interval '1 millisecond', now()) <= now() as is_due
          from jsonb_array_elements(jobs) with ordinality as e (job, n)
          where (created is null or created[e.n]) and not coalesce(known ? e.n::text, false)) said
    left join lateral (select r.per, r.max_running, r.when_full from fairmill.rule_in_force r where r.kind = said.kind) rule on true) given;

  if exists (select from unnest(v_keys) as k (name) where octet_length(k.name) > 1500) then
    raise exception 'the key of a limited job is too long' using errcode = 'FM001', hint = 'Kind, tenant and key together have room for about 1,500 bytes. Pass a digest of it.';
  end if;

  if 'refuse' = any (v_rules) then
    select p.slots, p.refusals into v_slots, refusals from fairmill.enqueue_places_v1(v_ns, v_keys, v_rules) p;
  end if;
  -- Last, because a rate is spent: only for jobs that nothing else refuses.
  if refusals is null or partial then
    refusals := fairmill.enqueue_rates_v1(v_ns, v_queues, v_kinds, v_tenants, v_keys, partial, refusals);
  end if;
  refusals := nullif(coalesce(known, '{}') || coalesce(refusals, '{}'), '{}');
  if refusals is not null and not partial then
    gated := jobs;
    return;
  end if;
  if 'wait' = any (v_rules) and alone then
    select w.slots, w.states into v_slots, v_states from fairmill.enqueue_waits_v1(v_ns, v_keys, v_rules, v_due, refusals, v_slots) w;
  end if;

  select jsonb_agg(e.job || jsonb_build_object('limit_key', g.limit_key, 'slot', g.slot,
           'state', coalesce(g.state, case when g.place = 'wait' then 'scheduled' end)) order by e.n)
    into gated
  from jsonb_array_elements(jobs) with ordinality as e (job, n)
  left join unnest(v_ns, v_keys, v_slots, v_states, v_rules) as g (n, limit_key, slot, state, place) on g.n = e.n;
end
$$;
