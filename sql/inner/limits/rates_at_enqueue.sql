-- Rates that are kept at enqueue: spends them for the jobs that fit, and refuses those that do not, with the time at
-- which they may come again. Jobs that must all come at once and are more than a rate ever lets in get no time:
-- there is none.
--   all_or_none  if one job is refused, nothing is spent
--  1. Find the rates, each with the jobs that come under it, and lock their meters.
--  2. Ask one rate after the other: a job that one refuses takes no room of the next.
--  3. Spend each of them for the jobs that none refused.
-- Locks: 16 enqueue meter.
-- Plan expected: a probe of limit_setting per name; then of each rate its meter. Linear in the jobs, however many names
-- they have.
create or replace function fairmill.rates_at_enqueue(jobs fairmill.new_job[], all_or_none boolean)
returns fairmill.new_job[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_rates   jsonb;      -- scope, name, ns (its jobs), limit, per, how of each
  v_scope   text;
  v_rate    record;
  v_room    record;
  v_open_at timestamptz;
  v_most    integer;    -- this many may come at once
  v_never   boolean;
  v_hit     integer[];  -- of its jobs those that are not refused yet
  v_n       integer;
  v_refused boolean := exists (select from unnest(jobs) as j where j.refusal is not null);
  v_at      timestamptz;
begin
  -- Last of the checks, because a rate is spent: only for jobs that nothing else refuses.
  if v_refused and all_or_none
    -- Mostly, limits are of another sort: then no job is looked at.
    or not (exists (select from fairmill.limit_setting g where g.rate_at = 'enqueue')
      or exists (select from fairmill.key_limit_in_force x where x.rate_at = 'enqueue')) then
    return jobs;
  end if;
  select jsonb_agg(jsonb_build_object('scope', r.scope, 'name', r.name, 'ns', r.ns, 'limit', r.rate_limit, 'per',
    r.rate_per_ms, 'how', r.rate_how)
           order by r.scope, r.name collate "C")
    into v_rates
  from (
    select own.scope, own.name, own.ns, g.rate_limit, g.rate_per_ms, g.rate_how
    from (select o.scope, o.name, array_agg(o.n) as ns
          from (select scope.scope, scope.name, j.n from unnest(jobs) as j
                cross join lateral (values ('queue', j.queue), ('kind', j.kind), ('tenant', j.tenant))
                  as scope (scope, name)
                where j.conflict is null) o
          group by o.scope, o.name) own
    cross join lateral (select x.* from fairmill.limit_setting x where x.scope = own.scope and x.name = own.name
      and x.rate_at = 'enqueue' offset 0) g
    union all
    select 'key', used.key, used.ns, rule.rate_limit, rule.rate_per_ms, rule.rate_how
    from (select j.limit_key as key, j.kind, array_agg(j.n) as ns from unnest(jobs) as j
          where j.limit_key is not null and j.conflict is null group by j.limit_key, j.kind) used
    cross join lateral (select x.* from fairmill.key_limit_in_force x where x.kind = used.kind
      and x.rate_at = 'enqueue' offset 0) rule) r;
  if v_rates is null then
    return jobs;
  end if;
  foreach v_scope in array array['key', 'kind', 'queue', 'tenant'] loop
    if jsonb_path_exists(v_rates, '$[*] ? (@.scope == $scope)', jsonb_build_object('scope', v_scope)) then
      perform fairmill.lock_meters('enqueue', v_scope, array(
        select r ->> 'name' from jsonb_array_elements(v_rates) as r where r ->> 'scope' = v_scope));
    end if;
  end loop;
  v_at := clock_timestamp();

  for v_rate in
    select r.*, m.spent_at, m.spent
    from rows from (jsonb_to_recordset(v_rates) as (scope text, name text, ns integer[], "limit" integer, per bigint,
      how text)) with ordinality
      as r (scope, name, ns, rate_limit, per_ms, how, turn)
    left join lateral (select x.spent_at, x.spent from fairmill.meter x where x.use = 'enqueue' and x.scope = r.scope
      and x.name = r.name offset 0) m on true
    order by r.turn
  loop
    select * into v_room from fairmill.rate_room(v_rate.spent_at, v_rate.spent, v_rate.rate_limit, v_rate.per_ms,
      v_rate.how, v_at);
    v_most := case when v_rate.how = 'uniform' then 1 else v_rate.rate_limit end;
    v_never := all_or_none and cardinality(v_rate.ns) > v_most;
    v_hit := array(select u.n from unnest(v_rate.ns) as u (n) where v_never or jobs[u.n].refusal is null order by u.n);
    if v_never then
      -- The times that other rates named are of no use then: the list never fits.
      v_room.room := v_most;
      for v_n in 1 .. cardinality(jobs) loop
        jobs[v_n].refusal := null;
      end loop;
    end if;
    continue when cardinality(v_hit) <= v_room.room;
    -- Jobs that must come all at once may when there is room for all. Of the others, the first that does not fit may
    -- come when something is given back, after those that fit have spent what is left.
    select r.open_at into v_open_at
    from (select s.* from fairmill.rate_spend(v_rate.spent_at, v_rate.spent, v_rate.rate_limit, v_rate.per_ms,
      v_rate.how, v_at, v_room.room) s
          where not all_or_none and v_room.room > 0
          union all select v_rate.spent_at, v_rate.spent where all_or_none or v_room.room = 0) now
    cross join lateral fairmill.rate_room(now.new_spent_at, now.new_spent, v_rate.rate_limit, v_rate.per_ms, v_rate.how,
      v_at,
      case when all_or_none then cardinality(v_hit) else 1 end) r
    where not v_never;
    foreach v_n in array v_hit[v_room.room + 1 :] loop
      v_refused := true;
      jobs[v_n].refusal := jsonb_strip_nulls(jsonb_build_object('code', 'FAIRMILL_RATE_LIMIT', 'scope', v_rate.scope,
        'name', v_rate.name,
        'limit', v_rate.rate_limit, 'per_ms', v_rate.per_ms, 'how', v_rate.how, 'retry_at', v_open_at));
    end loop;
    exit when v_never;
  end loop;
  if v_refused and all_or_none then
    return jobs;
  end if;

  update fairmill.meter m set spent_at = s.new_spent_at, spent = s.new_spent, used_at = date_trunc('hour', v_at)
  from (select r.*, (select count(*)::integer from unnest(r.ns) as u (n) where jobs[u.n].refusal is null) as count
        from jsonb_to_recordset(v_rates) as r (scope text, name text, ns integer[], "limit" integer, per bigint,
          how text) offset 0) let_in
  cross join lateral (select x.ctid, x.spent_at, x.spent from fairmill.meter x where x.use = 'enqueue'
    and x.scope = let_in.scope and x.name = let_in.name offset 0) was
  cross join lateral fairmill.rate_spend(was.spent_at, was.spent, let_in."limit", let_in.per, let_in.how, v_at,
    let_in.count) s
  where m.ctid = was.ctid and let_in.count > 0;
  return jobs;
end
$$;
