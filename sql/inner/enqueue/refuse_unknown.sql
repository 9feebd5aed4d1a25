-- Refuses jobs with fields that no job has: a misspelled "tenant" would be a job in another tenant's lane.
-- Asked where jobs come from callers that no compiler has checked.
--   jobs    an array of objects, as enqueue_many_v1 takes them;  shared: an object of the same fields
create or replace function fairmill.refuse_unknown(jobs jsonb, shared jsonb)
returns void
language plpgsql stable
as $$
#variable_conflict use_variable
declare
  v_known  constant text[] := array['kind', 'payload', 'tenant', 'queue', 'priority', 'max_attempts', 'key', 'run_at',
    'delay_ms', 'expire_ms', 'timeout_ms', 'tags', 'trace', 'uses', 'idempotency_key', 'account', 'amount', 'batch',
    'unique_key', 'unique_until', 'unique_for_ms', 'on_conflict', 'debounce_ms', 'debounce_max_ms', 'outbox',
    'content'];
  -- The last two are what the library and publish say.
  v_told   constant text[] := v_known[:array_length(v_known, 1) - 2];
  v_field  text;
begin
  select f.field into v_field
  from (select e.job from jsonb_array_elements(jobs || shared) as e (job)
        where case jsonb_typeof(e.job) when 'object' then e.job - v_known <> '{}' end limit 1) odd
  cross join lateral jsonb_object_keys(odd.job - v_known) as f (field) limit 1;
  if found then
    raise exception 'a job has no field "%"', v_field using errcode = 'FM001',
      hint = 'Known: ' || array_to_string(v_told, ', ') || '.';
  end if;
end
$$;
