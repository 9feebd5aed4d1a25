-- As admit_blocked, for keys of which this very transaction freed a slot: with one slot a key it need not lock the
-- meters of those who have somebody blocked. Part of settle_v1.
--  1. Lock the best of the blocked, for each key of a kind that allows one job at once and lets the others wait.
--  2. If nobody else holds a slot of the key, it gets the slot.
--  3. All other keys go the way of admit_blocked, under the locks of their meters.
-- Why no slot is given twice: until we commit, everybody else sees the job that gave up its slot still holding it,
-- whether they hold the meter or not; and nobody has given it before, because then we would see that job. Why nobody is
-- overlooked: who is not seen by us, because his enqueue commits later, has one before him who is started now, and
-- whose end looks again. Where we see nobody blocked that is not so:
-- then the meter's lock is waited for, and under it we look again.
-- Result: of each lane the first job that became ready.
-- Locks: 19 waiting job (before the meters, and never waited for), then as admit_blocked. Nobody waits for a job while
-- he holds a key's meter.
-- Plan expected: per key one entry of job_blocked, and one of job_slot; then the rows by their ctid (Tid Scan). In the
-- order of the keys, because then both indexes, and where keys begin with the tenant that of the lanes too, are written
-- page by page.
create or replace function fairmill.admit_freed(keys text[])
returns table (queue text, priority smallint, tenant text, id bigint)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_kind   text;
  v_start  text;
  v_single text[];
  v_keys   text[];   -- those with somebody blocked, and beside them its ctid
  v_ctids tid[];
  v_held   text[];
  v_rest   text[];
begin
  -- As lock_meters: what is seen must be what was committed before.
  if current_setting('transaction_isolation') = 'read committed' then
    -- Whose key begins like the first one is of its kind: the text of a key is its JSON, and a quotation mark ends the
    -- kind.
    v_kind := keys[1]::jsonb ->> 0;
    v_start := '[' || to_jsonb(v_kind)::text;
    if (select bool_and(starts_with(u.name, v_start)) from unnest(keys) as u (name)) then
      if exists (select from fairmill.key_limit r where r.kind = v_kind and r.max_running = 1 and r.when_full = 'wait')
        then
        v_single := keys;
      else
        v_rest := keys;
      end if;
    else
      select array_agg(name.name) filter (where rule.is_single), array_agg(name.name) filter (where not rule.is_single)
        into v_single, v_rest
      from (select u.name::jsonb ->> 0 as kind, array_agg(u.name) as names from unnest(keys) as u (name) group by 1) k
      cross join lateral (select exists (select from fairmill.key_limit r where r.kind = k.kind and r.max_running = 1
        and r.when_full = 'wait') as is_single offset 0) rule
      cross join lateral unnest(k.names) as name;
    end if;
  else
    v_rest := keys;
  end if;

  if v_single is not null then
    -- The inner query is not merged with this one (offset 0), which would ask and lock for each place where its answer
    -- stands.
    select array_agg(best.name) filter (where best.tid is not null), array_agg(best.tid)
      filter (where best.tid is not null),
           v_rest || array_agg(best.name) filter (where best.tid is null)
      into v_keys, v_ctids, v_rest
    from (select u.name, (select b.ctid from fairmill.job b where b.aside = 'blocked' and b.limit_key = u.name
                          order by b.priority desc, b.id limit 1 for update skip locked) as tid
          from (select distinct n.name collate "C" as name from unnest(v_single) as n (name) order by 1) u
            offset 0) best;
    -- Places above the limit: it was higher when they were given.
    v_held := array(select j.limit_key from fairmill.job j where j.slot is not null and j.limit_key = any (v_keys));
    if cardinality(v_held) > 0 then
      v_rest := v_rest || v_held;
      v_ctids := array(select p.tid from unnest(v_keys, v_ctids) with ordinality as p (name, tid, n)
        where p.name <> all (v_held) order by p.n);
    end if;
    return query
      with given as (
        update fairmill.job j set state = 'ready', aside = null, slot = 1
        from unnest(v_ctids) as p (tid)
        where j.ctid = p.tid
        returning j.queue, j.priority, j.tenant, j.id)
      select g.queue, g.priority, g.tenant, min(g.id) from given g group by g.queue, g.priority, g.tenant;
  end if;
  if v_rest is not null then
    return query select a.queue, a.priority, a.tenant, min(a.id) from fairmill.admit_blocked(v_rest) a group by a.queue,
      a.priority, a.tenant;
  end if;
end
$$;
