-- Empties the windows of a named limit for a key: nothing counts and nothing is owed any more. Jobs that wait for it
-- are due at once.
--   name, key  of the limit; a limit without keys has the key ''
-- Locks: 17 key meter, 19 waiting job.
create or replace function fairmill.reset_limit_v1(name text, key text default '')
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_meters text[] := array(
    select u.meter from fairmill.meters_of_uses(jsonb_build_array(
      jsonb_build_object('limit', reset_limit_v1.name, 'key', coalesce(reset_limit_v1.key, '')))) u);
begin
  if v_meters = '{}' then
    raise exception 'no limit is called "%"', reset_limit_v1.name using errcode = 'FM001',
      hint = 'Define it with define_limit_v1, or start a worker that uses it.';
  end if;
  perform fairmill.lock_meters('start', 'limit', v_meters);
  update fairmill.meter m set spent_at = null, spent = null, owed = null
  where m.use = 'start' and m.scope = 'limit' and m.name = any (v_meters);
  perform fairmill.free_waiting(reset_limit_v1.name, coalesce(reset_limit_v1.key, ''));
end
$$;
