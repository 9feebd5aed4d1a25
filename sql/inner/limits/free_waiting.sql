-- Jobs that wait for units of a limit are due at once: its windows are other ones, or empty. They are promoted, ask,
-- and are given new start times.
--   name  of the limit;  key: of its lines; null: all of them
-- Locks: 19 waiting job.
-- Plan expected: a range of job_waits_for.
create or replace function fairmill.free_waiting(name text, key text)
returns void
language plpgsql
set enable_sort = off
as $$
#variable_conflict use_variable
declare
  -- All lines of the limit: the text of a line is its JSON, a comma follows the name, and the next character is -.
  v_from constant text := case when key is null then '[' || to_jsonb(name)::text || ','
    else jsonb_build_array(name, key)::text end;
  v_to   constant text := case when key is null then '[' || to_jsonb(name)::text || '-' else v_from || ' ' end;
  v_at   constant timestamptz := clock_timestamp();
begin
  update fairmill.job j set run_at = v_at
  where j.ctid = any (array(
    select w.ctid from fairmill.job w where w.waits_for >= v_from and w.waits_for < v_to and w.aside = 'scheduled'
      and w.run_at > v_at
    order by w.waits_for for update skip locked));
  if found then
    perform fairmill.wake_v1(null, 0);
  end if;
end
$$;
