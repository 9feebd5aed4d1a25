-- Looks along the dead (or cancelled) jobs in the order of their ids and picks those that fit a filter. Changes
-- nothing, locks nothing.
--   filter    an object; what it does not name is not asked for. state: dead (default) | cancelled; kind, queue,
--             tenant: the same; error_code: the error's code is this; error_text: its message contains this;
--             ended_since (and later), ended_until (and not later); ids: only these, at most 10,000
--   jobs_max  picks at most so many;  looks_max: looks at no more than so many, whether they fit or not
--   after_id  begins behind this id
-- Result: the jobs and when each ended (together the primary key of the history), how many were looked at, the id of
-- the last of them:
-- where to go on; more: there may be more behind it.
-- Plan expected: the partial indexes of the partitions merged by id, up to the limit; with ids the primary keys. Days
-- that the filter leaves out are not read: that alone is asked of the index, because every other condition there would
-- walk on without a bound.
create or replace function fairmill.pick_dead(filter jsonb, jobs_max integer, looks_max integer, after_id bigint,
  out ids bigint[], out ends timestamptz[], out seen integer, out last_id bigint, out more boolean)
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_known      constant text[] := '{state,kind,queue,tenant,error_code,error_text,ended_since,ended_until,ids}';
  v_unknown    text;
  v_state      text := coalesce(filter ->> 'state', 'dead');
  v_kind       text := filter ->> 'kind';
  v_queue      text := filter ->> 'queue';
  v_tenant     text := filter ->> 'tenant';
  v_error_code text := filter ->> 'error_code';
  v_error_text text := filter ->> 'error_text';
  v_since      timestamptz := coalesce((filter ->> 'ended_since')::timestamptz, '-infinity');
  v_until      timestamptz := coalesce((filter ->> 'ended_until')::timestamptz, 'infinity');
  v_first_day  timestamptz := date_trunc('day', v_since, 'UTC');
  v_last_day   timestamptz := date_trunc('day', v_until, 'UTC') + interval '24 hours';
  v_ids        bigint[];
  v_rows       refcursor;
  v_row        record;
begin
  if jsonb_typeof(filter) is distinct from 'object' then
    raise exception 'filter must be a JSON object' using errcode = 'FM001',
      hint = 'Pass {"kind": "…"}, or {} for all of them.';
  end if;
  select f.field into v_unknown from jsonb_object_keys(filter) as f (field) where f.field <> all (v_known) limit 1;
  if found then
    -- A misspelt filter must not mean: everything.
    raise exception 'filter has an unknown field "%"', v_unknown using errcode = 'FM001',
      hint = 'Known: ' || array_to_string(v_known, ', ') || '.';
  end if;
  if v_state not in ('dead', 'cancelled') then
    raise exception 'jobs that are % are not put back', v_state using errcode = 'FM001',
      hint = 'Say dead or cancelled.';
  end if;
  if jobs_max is null or jobs_max not between 1 and 10000 or looks_max is null or looks_max not between 1 and 100000
    then
    raise exception 'at most 10000 jobs are picked, and 100000 looked at, in one call' using errcode = 'FM001';
  end if;

  if filter ? 'ids' then
    if jsonb_typeof(filter -> 'ids') <> 'array' or jsonb_array_length(filter -> 'ids') > 10000 then
      raise exception 'ids must be an array of at most 10000 ids' using errcode = 'FM001';
    end if;
    v_ids := array(select e.id::bigint from jsonb_array_elements_text(filter -> 'ids') as e (id));
    open v_rows for select h.id, h.ended_at, h.kind, h.queue, h.tenant, h.error from fairmill.job_history h
      where h.id = any (v_ids) and h.id > after_id and h.state is not distinct from v_state
        order by h.id limit looks_max;
  elsif v_state = 'dead' then
    open v_rows for select h.id, h.ended_at, h.kind, h.queue, h.tenant, h.error from fairmill.job_history h
      where h.state = 'dead' and h.id > after_id and h.ended_at >= v_first_day and h.ended_at < v_last_day
        order by h.id limit looks_max;
  else
    open v_rows for select h.id, h.ended_at, h.kind, h.queue, h.tenant, h.error from fairmill.job_history h
      where h.state = 'cancelled' and h.id > after_id and h.ended_at >= v_first_day and h.ended_at < v_last_day
        order by h.id limit looks_max;
  end if;

  ids := '{}';
  ends := '{}';
  seen := 0;
  last_id := after_id;
  more := true;
  -- Row by row, because it ends with the job that fills the batch: nothing behind it is read.
  while seen < looks_max and cardinality(ids) < jobs_max loop
    fetch v_rows into v_row;
    if not found then
      more := false;
      exit;
    end if;
    seen := seen + 1;
    last_id := v_row.id;
    if (v_kind is null or v_row.kind = v_kind) and (v_queue is null or v_row.queue = v_queue)
      and (v_tenant is null or v_row.tenant = v_tenant)
       and v_row.ended_at >= v_since and v_row.ended_at <= v_until
       and (v_error_code is null or v_row.error ->> 'code' is not distinct from v_error_code)
       and (v_error_text is null or strpos(v_row.error ->> 'message', v_error_text) > 0) then
      ids := ids || v_row.id;
      ends := ends || v_row.ended_at;
    end if;
  end loop;
  close v_rows;
end
$$;
