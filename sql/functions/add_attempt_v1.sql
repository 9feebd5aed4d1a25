-- An entry more in outbox.attempts. What is kept has a bound: the oldest go.
create or replace function fairmill.add_attempt_v1(attempts jsonb, entry jsonb)
returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select (case when jsonb_array_length(attempts) >= 100 then attempts - 0 else attempts end) || jsonb_build_array(entry)
$$;
