-- Writes into the last entry of outbox.attempts what the attempt came to, if it is known and not recorded before.
-- An attempt without an outcome is one whose worker did not report one.
--   said  what the worker says of it: outcome (sent | refused | uncertain) and error; null: nothing
create or replace function fairmill.close_attempt(attempts jsonb, said jsonb)
returns jsonb
language sql immutable
as $$
  select case when said is null or jsonb_array_length(attempts) = 0 or attempts -> -1 ? 'outcome' then attempts
    else jsonb_set(attempts, '{-1}', (attempts -> -1)
      || jsonb_strip_nulls(jsonb_build_object('outcome', said -> 'outcome', 'error', said -> 'error'))) end
$$;
