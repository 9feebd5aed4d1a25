-- Claims jobs without a memory of lanes: for clients of any language, and for callers that live for one request only.
-- Every waiting tenant gets its part of the batch by its weight; where tenants are many, chance gives each its turn.
-- Higher priorities go first, but each lower one is sure of its share. Where tenants have caps or rates, only some
-- lanes are asked, and more only if these gave nothing: an answer with fewer than jobs_max does not say that no others
-- wait.
--   worker_id    a worker registered by register_v1; its heartbeats keep the claimed jobs
--   queue_name   the queue to claim from
--   jobs_max     at most this many jobs;  tenant_max: at most this many of one tenant
--   kinds        only these kinds; null: any
--   lower_share  part of the jobs that each lower priority is sure of; together at most half
-- Result: as claim_lanes_v1.
-- Locks: as claim_lanes_v1.
-- Plan expected: lanes_v1, a probe of limit_setting per lane, claim_lanes_v1; with 5,000 lanes and more also about ten
-- blocks of the table.
create or replace function fairmill.claim_v1(
  worker_id text, queue_name text default 'default', jobs_max integer default 1, tenant_max integer default 25,
    kinds text[] default null,
  lower_share float8 default 0.1)
returns setof fairmill.claimed_job
language plpgsql
as $$
#variable_conflict use_column
declare
  v_priorities smallint[];
  v_tenants    text[];
  v_weights    float8[];
  v_quanta     integer[];
  v_count      integer;
  v_lanes_max  constant integer := 5000;
  v_lowest     smallint;   -- the priority among whose tenants the list ended
  v_start      text;
  v_first      integer := 1;            -- of the lanes, those that are asked for jobs
  v_last       integer;
begin
  if not exists (select from fairmill.worker w where w.id = worker_id and w.state = 'alive') then
    raise exception 'worker "%" is not alive', worker_id using errcode = 'FM002',
      hint = 'Register it first: select fairmill.register_v1(''' || worker_id || ''', ''{' || queue_name
        || '}''); then send heartbeats.';
  end if;
  -- Jobs that may start although something of theirs is paused: in a call of their own, because locks have an order.
  if exists (select from fairmill.pause_exception e where e.queue = queue_name) then
    return query select * from fairmill.claim_exceptions_v1(worker_id, queue_name, kinds, jobs_max);
    if found then
      return;
    end if;
  end if;
  select array_agg(l.priority), array_agg(l.tenant), array_agg(l.weight), count(*)
    into v_priorities, v_tenants, v_weights, v_count
  from fairmill.lanes_v1(queue_name, lanes_max => v_lanes_max) l;
  if v_count = 0 then
    return;
  end if;
  if v_count = v_lanes_max then
    -- More lanes wait than one call looks at. Of the priority at which the list ended, it begins at a random tenant
    -- instead and goes round: otherwise those beyond its end would wait until the others have nothing left. One tenant
    -- by chance of those that have jobs in about ten blocks of the table: cheap however many wait, and a long lane is
    -- not more likely than a short one beside it.
    v_lowest := v_priorities[v_count];
    select near.tenant into v_start
    from (select distinct j.tenant
          from fairmill.job j tablesample system (100.0 * 10 / greatest(10, pg_relation_size('fairmill.job') / 8192))
          where j.state = 'ready' and j.queue = queue_name and j.priority = v_lowest) near
    order by random() limit 1;
  end if;
  if v_start is not null then
    with behind as materialized (
      select l.tenant, l.weight from fairmill.lanes_v1(queue_name, v_lowest, v_start, v_lanes_max) l
        where l.priority = v_lowest),
    listed as (
      select v_lowest as priority, b.tenant, b.weight from behind b
      union all
      select k.priority, k.tenant, k.weight
        from unnest(v_priorities, v_tenants, v_weights) as k (priority, tenant, weight)
      where k.priority > v_lowest
         or (k.tenant collate "C") >= v_start and (select count(*) from behind) < v_lanes_max)
    select array_agg(l.priority), array_agg(l.tenant), array_agg(l.weight) into v_priorities, v_tenants, v_weights
      from listed l;
  end if;

  with lane as (
    -- By weight and chance: the heavier a tenant, the likelier it comes early.
    select l.priority, l.tenant, l.weight, -ln(1 - random()) / l.weight as turn,
      dense_rank() over (order by l.priority desc) as level,
        sum(l.weight) over (partition by l.priority) as level_weight
    from unnest(v_priorities, v_tenants, v_weights) as l (priority, tenant, weight)
    -- A paused tenant takes no share of the others. Asked for one value: a join may go along all limits for each of the
    -- lanes.
    where (select g.paused_at from fairmill.limit_in_force g where g.scope = 'tenant' and g.name = l.tenant) is null),
  level as (
    select l.level, floor(jobs_max * least(lower_share,
      0.5 / greatest(1, max(l.level) over () - 1)) + random())::integer as sure
    from (select distinct level from lane) l),
  ranked as (
    select lane.*, level.sure, row_number() over (partition by lane.level order by lane.turn) as position
    from lane join level using (level)),
  asked as (
    -- What lower priorities are sure of goes to the front; all others by priority. A lane that is sure of something
    -- asks for no more.
    select p.priority, p.tenant, p.turn, p.level > 1 and p.position <= p.sure as is_sure,
      case when p.level > 1 and p.position <= p.sure then ceil(p.sure * p.weight / p.level_weight)
        else ceil(jobs_max * p.weight / p.level_weight) end::integer as quantum
    from ranked p),
  bounded as (
    select a.*, least(a.quantum, tenant_max - coalesce(sum(a.quantum) over (partition by a.tenant
      order by a.is_sure desc, a.priority desc
      rows between unbounded preceding and 1 preceding), 0)) as share
    from asked a)
  select array_agg(b.priority order by b.is_sure desc, b.priority desc, b.turn),
    array_agg(b.tenant order by b.is_sure desc, b.priority desc, b.turn),
         array_agg(b.share::integer order by b.is_sure desc, b.priority desc, b.turn), count(*)
    into v_priorities, v_tenants, v_quanta, v_count
  from bounded b where b.share > 0;

  v_last := v_count;
  -- Every tenant with a cap or a rate whose lane is asked is locked until the caller commits: no more of them than are
  -- needed, as a rule.
  if exists (select from fairmill.limit_setting g where g.paused_at is not null or g.max_running is not null
    or g.rate_at = 'start') then
    v_last := greatest(20, (select count(*) filter (where s.before < 2 * jobs_max)
      from (select sum(q.quantum) over (order by q.n) - q.quantum as before
        from unnest(v_quanta) with ordinality as q (quantum, n)) s));
  end if;
  while v_first <= v_count loop
    v_last := least(v_last, v_count);
    begin
      return query
        select * from fairmill.claim_lanes_v1(worker_id, array_fill(queue_name, array[v_last - v_first + 1]),
          v_priorities[v_first:v_last],
          v_tenants[v_first:v_last], array_fill(0::bigint, array[v_last - v_first + 1]), v_quanta[v_first:v_last],
            kinds, jobs_max) c
        -- Rows of jobs that limits held back are not used here.
        where c.id is not null;
      if found or v_last = v_count then
        return;
      end if;
      -- Limits held back all of these. Their locks are given back, by an error that is caught here, before others are
      -- asked for: those may come before them in the order of locks.
      raise sqlstate 'FMGIV';
    exception when sqlstate 'FMGIV' then
      v_first := v_last + 1;
      v_last := 4 * v_last;
    end;
  end loop;
end
$$;
