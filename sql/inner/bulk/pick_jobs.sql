-- Looks along jobs in the order of their ids, live and ended ones, and picks those that fit a filter. Changes nothing.
--   states    which of them; the filter's own states are looked for among these
--   filter    an object; a field that it does not have is no condition. states; kind, queue, tenant, key, batch: equal;
--             tag: one of the job's; error_code, error_text (the message contains it); created_since, created_until,
--             ended_since, ended_until; payload: is contained in the job's; ids: only these
--   jobs_max  picks at most this many;  looks_max: looks at no more than this many, whether they fit or not
--   after_id  begins behind this id;  up_to_id: ends with this one
-- Result: the jobs, when each ended (null: it lives), how many were looked at, the id of the last of them, and whether
-- there may be more. All of one call are live, or all have ended: the two are locked in different orders.
-- Plan expected: the primary keys of job and of the partitions of the history, merged by id up to the limit; for dead
-- or cancelled ones alone their partial index. Days that the filter leaves out are not read then: that alone is asked
-- of the index, because every other condition there would walk on without a bound.
create or replace function fairmill.pick_jobs(states text[], filter jsonb, jobs_max integer, looks_max integer,
  after_id bigint, up_to_id bigint,
  out ids bigint[], out ends timestamptz[], out seen integer, out last_id bigint, out more boolean)
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_states    text[] := states;
  v_ids       bigint[];
  v_since     timestamptz := coalesce((filter ->> 'ended_since')::timestamptz, '-infinity');
  v_until     timestamptz := coalesce((filter ->> 'ended_until')::timestamptz, 'infinity');
  v_first_day timestamptz := date_trunc('day', v_since, 'UTC');
  v_last_day  timestamptz := date_trunc('day', v_until, 'UTC') + interval '24 hours';
  -- What is said about an end or an error, a live job does not fit.
  v_live      boolean;
  v_ended     boolean;
  v_payload   jsonb := filter -> 'payload';
  v_rows      refcursor;
  v_row       record;
begin
  perform fairmill.check_fields(filter, '{states,kind,queue,tenant,key,batch,tag,error_code,error_text,'
    'created_since,created_until,ended_since,ended_until,payload,ids}', 'filter');
  if filter ? 'states' then
    v_states := array(
      select s.state from jsonb_array_elements_text(filter -> 'states') as s (state) where s.state = any (states));
  end if;
  v_live := not v_states <@ '{done,dead,cancelled}'
    and not filter ?| '{error_code,error_text,ended_since,ended_until}';
  v_ended := v_states && '{done,dead,cancelled}';
  if filter ? 'ids' then
    v_ids := array(select e.id::bigint from jsonb_array_elements_text(filter -> 'ids') as e (id));
    open v_rows for
      select j.id, null::timestamptz as ended_at, j.state, j.kind, j.queue, j.tenant, j.key, j.batch, j.tags,
        j.created_at, null::jsonb as error, v_payload is null or j.payload @> v_payload as has_payload
      from fairmill.job j
      where v_live and j.id = any (v_ids) and j.id > after_id and j.id <= up_to_id
      union all
      select h.id, h.ended_at, h.state, h.kind, h.queue, h.tenant, h.key, h.batch, h.tags,
        h.created_at, h.error, v_payload is null or h.payload @> v_payload
      from fairmill.job_history h
      where v_ended and h.id = any (v_ids) and h.id > after_id and h.id <= up_to_id
      order by id;
  elsif v_states = array['dead'] then
    open v_rows for
      select h.id, h.ended_at, h.state, h.kind, h.queue, h.tenant, h.key, h.batch, h.tags,
        h.created_at, h.error, v_payload is null or h.payload @> v_payload as has_payload
      from fairmill.job_history h
      where h.state = 'dead' and h.id > after_id and h.id <= up_to_id
        and h.ended_at >= v_first_day and h.ended_at < v_last_day
      order by h.id limit looks_max;
  elsif v_states = array['cancelled'] then
    open v_rows for
      select h.id, h.ended_at, h.state, h.kind, h.queue, h.tenant, h.key, h.batch, h.tags,
        h.created_at, h.error, v_payload is null or h.payload @> v_payload as has_payload
      from fairmill.job_history h
      where h.state = 'cancelled' and h.id > after_id and h.id <= up_to_id
        and h.ended_at >= v_first_day and h.ended_at < v_last_day
      order by h.id limit looks_max;
  else
    open v_rows for
      select *
      from (
        (select j.id, null::timestamptz as ended_at, j.state, j.kind, j.queue, j.tenant, j.key, j.batch, j.tags,
          j.created_at, null::jsonb as error, v_payload is null or j.payload @> v_payload as has_payload
        from fairmill.job j
        where v_live and j.id > after_id and j.id <= up_to_id
        order by j.id limit looks_max)
        union all
        (select h.id, h.ended_at, h.state, h.kind, h.queue, h.tenant, h.key, h.batch, h.tags,
          h.created_at, h.error, v_payload is null or h.payload @> v_payload
        from fairmill.job_history h
        where v_ended and h.id > after_id and h.id <= up_to_id
        order by h.id limit looks_max)) looked
      order by id limit looks_max;
  end if;

  ids := '{}';
  ends := '{}';
  seen := 0;
  last_id := after_id;
  more := true;
  while seen < looks_max and cardinality(ids) < jobs_max loop
    fetch v_rows into v_row;
    if not found then
      more := false;
      exit;
    end if;
    if v_row.state = any (v_states) and v_row.has_payload
      and (not filter ? 'kind' or v_row.kind = filter ->> 'kind')
      and (not filter ? 'queue' or v_row.queue = filter ->> 'queue')
      and (not filter ? 'tenant' or v_row.tenant = filter ->> 'tenant')
      and (not filter ? 'key' or v_row.key is not distinct from filter ->> 'key')
      and (not filter ? 'batch' or v_row.batch is not distinct from (filter ->> 'batch')::bigint)
      and (not filter ? 'tag' or coalesce(filter ->> 'tag' = any (v_row.tags), false))
      and (not filter ? 'created_since' or v_row.created_at >= (filter ->> 'created_since')::timestamptz)
      and (not filter ? 'created_until' or v_row.created_at <= (filter ->> 'created_until')::timestamptz)
      and (v_row.ended_at is null or v_row.ended_at between v_since and v_until)
      and (not filter ? 'error_code' or v_row.error ->> 'code' is not distinct from filter ->> 'error_code')
      and (not filter ? 'error_text' or strpos(v_row.error ->> 'message', filter ->> 'error_text') > 0) then
      -- The first of the other table begins the next call.
      exit when cardinality(ids) > 0 and (v_row.ended_at is null) <> (ends[1] is null);
      ids := ids || v_row.id;
      ends := ends || v_row.ended_at;
    end if;
    seen := seen + 1;
    last_id := v_row.id;
  end loop;
  close v_rows;
end
$$;
