-- Looks along the dead (or cancelled) jobs in the order of their ids and picks those that fit a filter. Changes
-- nothing, locks nothing.
--   filter    an object; a field that it does not have is no condition. state: dead (default) | cancelled; kind, queue,
--             tenant: equal; error_code: the error's code is this; error_text: its message contains this; ended_since
--             (and later), ended_until (and not later); ids: only these, at most 10,000
--   jobs_max, looks_max, after_id  as pick_jobs takes them, within bounds
-- Result: as of pick_jobs.
-- Plan expected: as pick_jobs.
create or replace function fairmill.pick_dead(filter jsonb, jobs_max integer, looks_max integer, after_id bigint,
  out ids bigint[], out ends timestamptz[], out seen integer, out last_id bigint, out more boolean)
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_state text := coalesce(filter ->> 'state', 'dead');
begin
  if jsonb_typeof(filter) is distinct from 'object' then
    raise exception 'filter must be a JSON object' using errcode = 'FM001',
      hint = 'Pass {"kind": "…"}, or {} for all of them.';
  end if;
  perform fairmill.check_fields(filter,
    '{state,kind,queue,tenant,error_code,error_text,ended_since,ended_until,ids}', 'filter');
  if v_state not in ('dead', 'cancelled') then
    raise exception 'jobs that are % are not redriven', v_state using errcode = 'FM001',
      hint = 'Say dead or cancelled.';
  end if;
  if jobs_max is null or jobs_max not between 1 and 10000
    or looks_max is null or looks_max not between 1 and 100000 then
    raise exception 'at most 10000 jobs are picked, and 100000 looked at, in one call' using errcode = 'FM001';
  end if;
  if filter ? 'ids' and (jsonb_typeof(filter -> 'ids') <> 'array' or jsonb_array_length(filter -> 'ids') > 10000) then
    raise exception 'ids must be an array of at most 10000 ids' using errcode = 'FM001';
  end if;
  select p.ids, p.ends, p.seen, p.last_id, p.more into ids, ends, seen, last_id, more
  from fairmill.pick_jobs(
    array[v_state], jsonb_strip_nulls(filter) - 'state', jobs_max, looks_max, after_id, 9223372036854775807) p;
end
$$;
