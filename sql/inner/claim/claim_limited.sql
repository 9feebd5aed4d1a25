-- The claim where limits are: as claim_lanes_v1, which calls it, but every job passes the limits of its queue, kind and
-- tenant and the rate of its key.
--  1. Lock the meters of the limits that count something, and see under the locks how much room each has
--  (room_of_limits); kinds whose providers are closed have none (add_closed_kinds), nor have kinds of a tenant whose
--  budget is spent (closed_budgets).
--  2. Take candidates lane by lane, as far as the room of their queue and tenant goes; leave out kinds that are closed.
--  3. Let those go that are too many for a limit they share with others (fit_limits). They stay ready.
--  4. Ask named limits (units_of_limits) and the rates of keys (rates_of_keys): a job that is over one becomes
--  rate-limited: scheduled for the time it may start.
--  5. Spend the rates of limits for the rest and see what is closed now (closed_limits), list them where there are caps
--  (list_running_ids);
--     start them.
-- Result: the claimed jobs; and one row with id null if a limit is closed now or a job was rate-limited. Its held_back:
--   limits     [{"scope", "name", "why": paused | cap | rate | provider | budget, "open_in_ms": when a rate or a
--              provider opens, a pause ends, or it is worth asking again}, …]. A budget keeps some kinds of its tenant
--   cut        how many candidates were too many for a limit they share: where jobs_max was reached with them, lanes
--              were not asked
--   late       [[priority, tenant, count], …] jobs that were rate-limited by their key: the lane gave them, but not to
--              the worker
--   due_in_ms  when the first of these falls due
--   exceptions true: jobs of these queues may start although something of theirs is paused (claim_exceptions_v1)
-- Other than lane by lane:
--   jobs           only these, each in the lane beside it
--   despite_pause  and of these only those that may start although something of theirs is paused
-- A claim that spends a rate is durable, whatever the caller says.
-- Locks: 5 limit meter, 8 job (those that are free), 17 key meter (named limits, then keys), 21 claim list, 28
-- provider (those that are free).
create or replace function fairmill.claim_limited(
  worker_id text, queues text[], priorities smallint[], tenants text[], floors bigint[], quanta integer[], kinds text[],
    jobs_max integer, durable boolean,
  list_no bigint, jobs bigint[] default null, despite_pause boolean default false)
returns setof fairmill.claimed_job
language plpgsql
set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_at      timestamptz;
  v_limits   jsonb;      -- "tenant acme" → {"room": 3, …}
  v_capped  text[];     -- which scopes have limits with a cap
  v_scopes  text[];     -- which scopes have limits
  v_closed  text[];     -- kinds
  v_ctids  tid[];      -- of the candidates, and beside each the number of its lane
  v_lanes   bigint[];
  v_ids     bigint[];
  v_asked   integer;
  v_late    jsonb;
  v_uses    boolean := false;  -- some use named limits
  v_waits   jsonb;      -- late for these
  v_used    jsonb;      -- "tenant acme" → how many of it start
  v_held    jsonb;
  v_told    jsonb := '{}';
  v_spends  boolean;
  v_spent   jsonb;      -- tenant → kinds that a spent budget keeps from starting
  v_row     fairmill.claimed_job;
begin
  v_limits := fairmill.room_of_limits(queues, kinds, tenants, quanta, jobs_max, despite_pause);
  v_at := clock_timestamp();
  if exists (select from fairmill.provider p where p.closed_until is not null or p.crowded_until is not null) then
    v_limits := fairmill.add_closed_kinds(v_limits, kinds, v_at);
  end if;
  if exists (select from fairmill.budget b where b.closed_until > now()) then
    v_spent := (select jsonb_object_agg(c.tenant, c.kinds) from (
      select x.tenant, jsonb_agg(x.kind) as kinds from fairmill.closed_budgets(tenants, kinds, v_at) x
      group by x.tenant) c);
  end if;
  select coalesce(array_agg(distinct g.facts ->> 'scope'), '{}'),
         coalesce(array_agg(g.facts ->> 'name')
           filter (where g.facts ->> 'scope' = 'kind' and (g.facts -> 'room')::integer <= 0), '{}'),
         coalesce(array_agg(distinct g.facts ->> 'scope') filter (where g.facts ? 'free'), '{}'),
         coalesce(bool_or(g.facts ? 'per_ms'), false)
    into v_scopes, v_closed, v_capped, v_spends
  from jsonb_each(v_limits) as g (name, facts);

  if jobs is not null then
    select coalesce(array_agg(ready.ctid), '{}'), coalesce(array_agg(ready.n), '{}'), array_agg(ready.id)
      into v_ctids, v_lanes, v_ids
    from (
      select ready.ctid, ready.id, own.n from unnest(jobs) with ordinality as own (id, n)
      cross join lateral (
        select r.ctid, r.id from fairmill.job r
        where r.id = own.id and r.aside is null and r.state = 'ready'
          and (not despite_pause
            or exists (select from fairmill.pause_exception w where w.job_id = r.id and w.lease_no = r.lease_no))
          and (kinds is null or r.kind = any (kinds)) and r.kind <> all (v_closed)
          and (v_spent is null or not coalesce(v_spent -> r.tenant ? r.kind, false))
          and (r.expire_at is null or r.expire_at > now())
        for update of r skip locked) ready
      limit jobs_max) ready;
  else
    select coalesce(array_agg(ready.ctid), '{}'), coalesce(array_agg(ready.n), '{}'), array_agg(ready.id)
      into v_ctids, v_lanes, v_ids
    from (
      select ready.ctid, ready.id, lane.n
      from unnest(queues, priorities, tenants, floors, quanta) with ordinality as lane (queue, priority, tenant, floor,
        quantum, n)
      cross join lateral (select least(lane.quantum, (v_limits #> array['tenant ' || lane.tenant, 'room'])::integer,
                                       (v_limits #> array['queue ' || lane.queue, 'room'])::integer) as quantum
                                         offset 0) allowed
      cross join lateral (
        select r.ctid, r.id from fairmill.job r
        where r.aside is null and r.state = 'ready'
          and fairmill.level_v1(r.queue, r.priority) = fairmill.level_v1(lane.queue, lane.priority)
            and r.queue = lane.queue
          and (r.tenant, coalesce(r.turn_no, r.id)) > (lane.tenant, lane.floor) and r.tenant <= lane.tenant
          and (kinds is null or r.kind = any (kinds)) and r.kind <> all (v_closed)
          and (v_spent is null or not coalesce(v_spent -> lane.tenant ? r.kind, false))
          and (r.expire_at is null or r.expire_at > now())
        order by r.tenant, coalesce(r.turn_no, r.id)
        limit allowed.quantum
        for update skip locked) ready
      where allowed.quantum > 0
      limit jobs_max) ready;
  end if;

  if cardinality(v_ctids) > 0 then
    -- Lanes of one tenant or queue share its room, and lanes hold jobs of several kinds.
    if jobs is not null or v_scopes && array['kind', 'queue']
      or (select count(distinct t.name) from unnest(tenants) as t (name)) < cardinality(tenants) then
      v_asked := cardinality(v_ctids);
      v_ctids := fairmill.fit_limits(v_ctids, v_limits);
      v_told := jsonb_build_object('cut', v_asked - cardinality(v_ctids));
    end if;
    if exists (select from fairmill.named_limit) then
      select u.at, u.ctids_left, u.late, u.uses, v_spends or u.uses into v_at, v_ctids, v_waits, v_uses, v_spends
        from fairmill.units_of_limits(v_ctids, v_at) u;
    end if;
    if exists (select from fairmill.key_limit r where r.rate_at = 'start' and (kinds is null or r.kind = any (kinds)))
      then
      select r.at, r.ctids_left, r.late, v_spends or r.spends into v_at, v_ctids, v_late, v_spends
        from fairmill.rates_of_keys(v_ctids, v_at) r;
    end if;
    if v_uses then
      perform fairmill.spend_units(v_ctids, v_at);
      if v_waits is not null then
        v_late := jsonb_build_object('late', coalesce(v_late -> 'late', '[]') || (v_waits -> 'late'),
          'due_in_ms', least((v_late -> 'due_in_ms')::float8, (v_waits -> 'due_in_ms')::float8));
      end if;
    end if;
  end if;
  if not (durable or v_spends) then
    perform set_config('synchronous_commit', 'off', true);
  end if;

  if v_limits <> '{}' then
    -- How many start of each, before they do: they are locked. The lanes give the counts, unless a job was let go or
    -- kinds have limits.
    if cardinality(v_ctids) = cardinality(v_lanes) and 'kind' <> all (v_scopes) then
      with lane as (select l.n, count(*) as count from unnest(v_lanes) as l (n) group by l.n)
      select jsonb_object_agg(u.name, u.count) into v_used
      from (select 'tenant ' || tenants[l.n] as name, sum(l.count) as count from lane l where 'tenant' = any (v_scopes)
        group by 1
            union all select 'queue ' || queues[l.n], sum(l.count) from lane l where 'queue' = any (v_scopes)
              group by 1) u;
    else
      select jsonb_object_agg(u.name, u.count) into v_used
      from (select 'tenant ' || j.tenant as name, count(*) as count from fairmill.job j where j.ctid = any (v_ctids)
        and 'tenant' = any (v_scopes) group by j.tenant
            union all select 'kind ' || j.kind, count(*) from fairmill.job j where j.ctid = any (v_ctids)
              and 'kind' = any (v_scopes) group by j.kind
            union all select 'queue ' || j.queue, count(*) from fairmill.job j where j.ctid = any (v_ctids)
              and 'queue' = any (v_scopes) group by j.queue) u;
    end if;
    v_held := fairmill.closed_limits(v_limits, v_used, v_at);
  end if;
  if v_spent is not null then
    v_held := nullif(coalesce(v_held, '[]') || fairmill.lanes_of_spent(v_spent, queues, priorities, tenants),
      '[]');
  end if;
  if cardinality(v_ctids) > 0 then
    perform fairmill.record_claim(worker_id, list_no, v_ids);
    if cardinality(v_capped) > 0 then
      perform fairmill.list_running_ids((
        select jsonb_object_agg(l.name, l.ids::text)
        from (select 'tenant ' || tenants[c.n] as name, array_agg(c.id) as ids from unnest(v_lanes, v_ids) as c (n, id)
          where 'tenant' = any (v_capped) group by 1
              union all select 'queue ' || queues[c.n], array_agg(c.id) from unnest(v_lanes, v_ids) as c (n, id)
                where 'queue' = any (v_capped) group by 1
              union all select 'kind ' || j.kind, array_agg(j.id) from fairmill.job j where j.ctid = any (v_ctids)
                and 'kind' = any (v_capped) group by 1) l
        where v_limits -> l.name ? 'free'));
    end if;
    if v_limits @? '$.*.tries' then
      perform fairmill.mark_tries(v_limits, v_used, v_at);
    end if;
  end if;
  -- Straight to the caller: to keep the rows for a second look at them would be another copy of every payload.
  return query
    update fairmill.job j
    set state = 'running', worker = worker_id, lease_no = fairmill.next_lease(j.lease_no), attempt = j.attempt + 1,
      started_at = v_at, rate_limited = null, waits_for = null,
        unique_key = case when j.unique_until = 'started' then null else j.unique_key end,
          unique_until = nullif(j.unique_until, 'started')
    where j.ctid = any (v_ctids)
    returning j.id, j.lease_no, j.priority, j.tenant, j.kind, j.key, j.attempt, j.crashes, j.max_attempts, j.payload,
      j.batch,
      j.timeout_ms, j.trace, null::jsonb;
  if v_held is not null or v_late is not null then
    if exists (select from fairmill.pause_exception e where e.queue = any (queues)) then
      v_told := v_told || '{"exceptions": true}';
    end if;
    v_row.held_back := jsonb_build_object('limits', coalesce(v_held, '[]')) || v_told || coalesce(v_late, '{}');
    return next v_row;
  end if;
end
$$;
