-- Adds an entry to job.failures or outbox.attempts. Both are rewritten with every attempt, so what is kept has a bound:
-- 50 entries and 64 KiB.
-- What exceeds it is removed from the middle: the first three entries show how it began, the last ones its current
-- state. The entry behind the gap says in dropped how many are missing before it. The last entry stays as it is; if it
-- alone fills the bound, only the code and the beginning of the message of the first one are kept.
--   attempts  the array, or null;  entry: an object
create or replace function fairmill.add_attempt(attempts jsonb, entry jsonb)
returns jsonb
language plpgsql stable
as $$
declare
  v_entries_max constant integer := 50;
  v_bytes_max   constant integer := 65536;
  v_firsts      constant integer := 3;
  v_all         jsonb := coalesce(attempts, '[]') || jsonb_build_array(entry);
  v_count       integer := jsonb_array_length(v_all);
  v_at          integer;   -- the index of the gap
  v_gone        integer;
begin
  while v_count > v_entries_max or v_count > 2 and pg_column_size(v_all) > v_bytes_max loop
    v_at := least(v_firsts, v_count - 2);
    -- One at a time, unless there are far too many: then all of those at once.
    v_gone := greatest(1, v_count - v_entries_max);
    select jsonb_agg(case when e.n = v_at + v_gone + 1
        then e.entry || jsonb_build_object('dropped', missing.count + coalesce((e.entry ->> 'dropped')::integer, 0))
        else e.entry end order by e.n)
      into v_all
    from jsonb_array_elements(v_all) with ordinality as e (entry, n)
    cross join (
      select sum(1 + coalesce((d.entry ->> 'dropped')::integer, 0))::integer as count
      from jsonb_array_elements(v_all) with ordinality as d (entry, n)
      where d.n > v_at and d.n <= v_at + v_gone) missing
    where e.n <= v_at or e.n > v_at + v_gone;
    v_count := jsonb_array_length(v_all);
  end loop;
  if v_count = 2 and pg_column_size(v_all) > v_bytes_max and jsonb_typeof(v_all -> 0 -> 'error') = 'object' then
    v_all := jsonb_set(v_all, '{0,error}', jsonb_strip_nulls(jsonb_build_object(
      'name', left(v_all #>> '{0,error,name}', 200), 'code', left(v_all #>> '{0,error,code}', 200),
      'message', left(v_all #>> '{0,error,message}', 200))));
  end if;
  return v_all;
end
$$;
