-- The jobs that wait, by queue and by what keeps them: what a worker more could start now, and what it could not.
--   queues_wanted  null: all;  kinds_handled: kinds that have a handler; null: those of living workers and of pools
-- Result: a row per queue and reason, with how many there are (is_more: at least this many).
--   runnable       could start now
--   scheduled      due later;  rate-limited: put back, or held back, by a rate;  blocked: no slot under its key
--   paused, capped held back by the settings of its tenant, queue or kind. Under a cap as many as have room are
--                  runnable
--   provider closed  a provider that its kind needs takes no calls
--   no handler     no worker knows its kind
-- Every count is bounded, whatever waits: 1000 jobs of a lane, 2000 lanes, 20,000 jobs in all lanes, 10,000 scheduled
-- and 10,000 blocked ones are looked at.
-- Plan expected: lanes by probes of job_lane, each with a bounded walk along it; bounded walks along job_scheduled and
-- job_blocked; limits by their primary keys.
create or replace function fairmill.backlog_v1(queues_wanted text[] default null, kinds_handled text[] default null)
returns table (queue text, reason text, jobs integer, is_more boolean)
language plpgsql stable
set enable_sort = off
as $$
#variable_conflict use_column
declare
  c_lane   constant integer := 1000;
  c_lanes  constant integer := 2000;
  c_jobs   constant integer := 20000;
  c_aside  constant integer := 10000;
  v_kinds  text[] := coalesce(kinds_handled, fairmill.handled_kinds());
  v_limits boolean := exists (select from fairmill.limit_setting)
    or exists (select from fairmill.provider p where p.closed_until is not null or p.crowded_until is not null);
  v_rooms  jsonb := '{}';    -- by scope and name: {room, why}, what is left of it; only what has a limit is kept
  v_lanes  integer := 0;
  v_found  jsonb := '{}';    -- by queue and reason as a JSON list: how many
  v_more   jsonb := '{}';    -- the same: there are more of them
  v_looked integer := 0;
  v_level  record;
  v_tenant text;
  v_lane   record;
  v_limit  text;
  v_names  text[];
  v_room   integer;
  v_why    text;
  v_key    text;
begin
  for v_level in
    select l.queue, l.priority, fairmill.level_v1(l.queue, l.priority) as number from fairmill.levels() l
    where queues_wanted is null or l.queue = any (queues_wanted)
  loop
    v_tenant := '';
    loop
      select j.tenant into v_tenant from fairmill.job j
      where j.aside is null and j.state = 'ready' and fairmill.level_v1(j.queue, j.priority) = v_level.number
        and j.queue = v_level.queue and j.tenant > v_tenant
      order by fairmill.level_v1(j.queue, j.priority), j.tenant limit 1;
      exit when not found or v_looked >= c_jobs or v_lanes >= c_lanes;
      v_lanes := v_lanes + 1;
      for v_lane in
        select seen.kind, count(*)::integer as count, sum(count(*)) over () as sum
        from (select j.kind from fairmill.job j
              where j.aside is null and j.state = 'ready' and fairmill.level_v1(j.queue, j.priority) = v_level.number
                and j.queue = v_level.queue and j.tenant = v_tenant limit c_lane) seen
        group by seen.kind
      loop
        v_looked := v_looked + v_lane.count;
        v_room := v_lane.count;
        v_why := null;
        v_names := case when v_limits
          then array['queue ' || v_level.queue, 'kind ' || v_lane.kind, 'tenant ' || v_tenant] else '{}' end;
        if v_kinds is not null and v_lane.kind <> all (v_kinds) then
          v_room := 0;
          v_why := 'no handler';
        else
          foreach v_limit in array v_names loop
            if not v_rooms ? v_limit then
              v_rooms := v_rooms || jsonb_strip_nulls(jsonb_build_object(v_limit,
                fairmill.room_left(split_part(v_limit, ' ', 1), substr(v_limit, strpos(v_limit, ' ') + 1))));
            end if;
            if (v_rooms -> v_limit -> 'room')::integer < v_room then
              v_room := (v_rooms -> v_limit -> 'room')::integer;
              v_why := v_rooms -> v_limit ->> 'why';
            end if;
          end loop;
          foreach v_limit in array v_names loop
            if v_room > 0 and jsonb_typeof(v_rooms -> v_limit) = 'object' then
              v_rooms := jsonb_set(v_rooms, array[v_limit, 'room'],
                to_jsonb((v_rooms -> v_limit -> 'room')::integer - v_room));
            end if;
          end loop;
        end if;
        v_key := jsonb_build_array(v_level.queue, 'runnable');
        v_found := v_found || jsonb_build_object(v_key, coalesce((v_found -> v_key)::integer, 0) + v_room);
        if v_lane.sum >= c_lane and v_room = v_lane.count then
          v_more := v_more || jsonb_build_object(v_key, true);
        end if;
        if v_room < v_lane.count then
          v_key := jsonb_build_array(v_level.queue, v_why);
          v_found := v_found
            || jsonb_build_object(v_key, coalesce((v_found -> v_key)::integer, 0) + v_lane.count - v_room);
          if v_lane.sum >= c_lane then
            v_more := v_more || jsonb_build_object(v_key, true);
          end if;
        end if;
      end loop;
    end loop;
  end loop;

  return query
    select f.key::jsonb ->> 0, f.key::jsonb ->> 1, f.value::integer,
      v_more ? f.key or v_looked >= c_jobs or v_lanes >= c_lanes
    from jsonb_each_text(v_found) f where f.value::integer > 0
    union all
    select later.queue, case when later.rate_limited then 'rate-limited' else 'scheduled' end, count(*)::integer,
      sum(count(*)) over () >= c_aside
    from (select j.queue, coalesce(j.rate_limited, false) as rate_limited from fairmill.job j
          where j.aside = 'scheduled' order by j.run_at, j.id limit c_aside) later
    where queues_wanted is null or later.queue = any (queues_wanted) group by later.queue, later.rate_limited
    union all
    select kept.queue, 'blocked', count(*)::integer, sum(count(*)) over () >= c_aside
    from (select j.queue from fairmill.job j where j.aside = 'blocked' order by j.limit_key limit c_aside) kept
    where queues_wanted is null or kept.queue = any (queues_wanted) group by kept.queue;
end
$$;
