-- The jobs that are ready, by queue, tenant and kind, and by what keeps them. Part of backlog_v1 and backlog_by_v1.
--   queues_wanted  null: all;  kinds_handled: kinds that have a handler; null: every kind
-- Result: rows with
--   reason   runnable; no handler; paused, rate: by the settings of its tenant, queue or kind; tenant cap, queue cap,
--            kind cap; provider closed: one that its kind needs takes no calls; budget spent: one of its tenant. Under
--            a cap or a rate as many as have room are runnable
--   is_more  at least this many
-- and, where lanes were left out because there are too many, one more row with the reason null.
-- 1000 jobs of a lane, 2000 lanes and 20,000 jobs in all lanes are looked at.
-- Plan expected: lanes by probes of job_lane, each with a bounded walk along it; limits by their primary keys.
create or replace function fairmill.backlog_lanes(queues_wanted text[], kinds_handled text[])
returns table (queue text, tenant text, kind text, reason text, jobs integer, is_more boolean)
language plpgsql stable
as $$
#variable_conflict use_column
declare
  c_lane   constant integer := 1000;
  c_lanes  constant integer := 2000;
  c_jobs   constant integer := 20000;
  v_limits boolean := exists (select from fairmill.limit_setting)
    or exists (select from fairmill.provider p where p.closed_until is not null or p.crowded_until is not null);
  -- tenant → kinds that a spent budget keeps from starting
  v_spent  jsonb := (
    select jsonb_object_agg(c.tenant, c.kinds)
    from (
      select x.tenant, jsonb_agg(x.kind) as kinds
      from fairmill.closed_budgets(null, null, clock_timestamp()) x
      group by x.tenant) c);
  v_rooms  jsonb := '{}';   -- by scope and name: {room, why}, what is left of it; only what has a limit is kept
  v_lanes  integer := 0;
  v_looked integer := 0;
  v_level  record;
  v_tenant text;
  v_lane   record;
  v_limit  text;
  v_names  text[];
  v_room   integer;
  v_why    text;
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
      exit when not found;
      if v_looked >= c_jobs or v_lanes >= c_lanes then
        return query select null::text, null::text, null::text, null::text, 0, true;
        return;
      end if;
      v_lanes := v_lanes + 1;
      for v_lane in
        select seen.kind, count(*)::integer as count, sum(count(*)) over () >= c_lane as is_full
        from (
          select j.kind from fairmill.job j
          where j.aside is null and j.state = 'ready' and fairmill.level_v1(j.queue, j.priority) = v_level.number
            and j.queue = v_level.queue and j.tenant = v_tenant
          limit c_lane) seen
        group by seen.kind
      loop
        v_looked := v_looked + v_lane.count;
        v_room := v_lane.count;
        v_why := null;
        v_names := case when v_limits
          then array['queue ' || v_level.queue, 'kind ' || v_lane.kind, 'tenant ' || v_tenant] else '{}' end;
        if kinds_handled is not null and v_lane.kind <> all (kinds_handled) then
          v_room := 0;
          v_why := 'no handler';
        elsif v_spent -> v_tenant ? v_lane.kind then
          v_room := 0;
          v_why := 'budget spent';
        else
          foreach v_limit in array v_names loop
            if not v_rooms ? v_limit then
              v_rooms := v_rooms || jsonb_strip_nulls(jsonb_build_object(v_limit,
                fairmill.room_left(split_part(v_limit, ' ', 1), substr(v_limit, strpos(v_limit, ' ') + 1))));
            end if;
            if (v_rooms -> v_limit -> 'room')::integer < v_room then
              v_room := (v_rooms -> v_limit -> 'room')::integer;
              v_why := case v_rooms -> v_limit ->> 'why' when 'capped' then split_part(v_limit, ' ', 1) || ' cap'
                when 'rate-limited' then 'rate' when 'provider closed' then 'provider closed' else 'paused' end;
            end if;
          end loop;
          foreach v_limit in array v_names loop
            if v_room > 0 and jsonb_typeof(v_rooms -> v_limit) = 'object' then
              v_rooms := jsonb_set(v_rooms, array[v_limit, 'room'],
                to_jsonb((v_rooms -> v_limit -> 'room')::integer - v_room));
            end if;
          end loop;
        end if;
        if v_room > 0 then
          return query select v_level.queue, v_tenant, v_lane.kind, 'runnable', v_room,
            v_lane.is_full and v_room = v_lane.count;
        end if;
        if v_room < v_lane.count then
          return query select v_level.queue, v_tenant, v_lane.kind, v_why, v_lane.count - v_room, v_lane.is_full;
        end if;
      end loop;
    end loop;
  end loop;
end
$$;
