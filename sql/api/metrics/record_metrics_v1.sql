-- Records figures that only the caller knows: how long a provider took to answer, how much is stored.
--   samples  [{"name": "api_latency", "label": "gemini", "count": 3, "sum": 4.5, "max": 2.1}]; count 1 and max = sum
--            unless given
-- Result: how many were kept, at most 1000 a call.
-- Locks: none.
create or replace function fairmill.record_metrics_v1(samples jsonb)
returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  v_count integer;
begin
  insert into fairmill.metric_sample (name, label, count, sum, max)
  select s.value ->> 'name', coalesce(s.value ->> 'label', ''), coalesce((s.value ->> 'count')::integer, 1),
    (s.value ->> 'sum')::float8, coalesce((s.value ->> 'max')::float8, (s.value ->> 'sum')::float8)
  from jsonb_array_elements(samples) with ordinality as s (value, no)
  where s.no <= 1000;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
