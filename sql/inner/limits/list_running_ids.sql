-- Adds jobs to the lists of limits with a cap: from now on they count there for as long as they run. A list may name
-- more than are started.
--   listed  by scope and name ("tenant acme") the ids, as the text of an array; null: nothing to add
-- Locks: none: the caller has 5 limit meter.
-- Plan expected: a probe of meter per name, then the rows by their ctids.
create or replace function fairmill.list_running_ids(listed jsonb)
returns void
language plpgsql
set enable_sort = off
as $$
#variable_conflict use_column
begin
  -- The hour says that it is in use: a session that removes idle meters now looks at it again under the lock.
  update fairmill.meter m set running_ids = m.running_ids || (listed ->> (m.scope || ' ' || m.name))::bigint[],
    used_at = date_trunc('hour', now())
  where m.ctid = any (array(
    select x.ctid from jsonb_object_keys(listed) as l (name)
    cross join lateral (select m.ctid from fairmill.meter m where m.use = 'start'
      and m.scope = split_part(l.name, ' ', 1)
      -- Backwards, as in lock_meters.
      and m.name <= substr(l.name, strpos(l.name, ' ') + 1) and m.name >= substr(l.name, strpos(l.name, ' ') + 1)
      order by m.name desc limit 1) x));
end
$$;
