-- Which of these batches are over now: no live member, no batch inside that is not over, no hold that is open, and no
-- new member for as long as their window says. Those that are not over for reasons of time get a check_at; holds that
-- ran out are counted as lost.
-- The caller has the trees' locks. Result: the batches that are over, locked: no session adds a member to them any
-- more.
-- Locks: 13 batch. One to which another session is adding is left out and checked again: no settle waits for a caller's
-- transaction.
-- Plan expected: per batch the newest entry of job_batch (the oldest ones are the first to end, and their dead entries
-- are not walked over) and for the same reason batch_inside from its end, batch_hold_batch; then the primary key.
-- Subselects with a limit, because a NOT EXISTS may become a join that walks along the whole index.
create or replace function fairmill.idle_batches(batches bigint[])
returns bigint[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_now   timestamptz := clock_timestamp();
  v_quiet bigint[];
  v_over  bigint[];
  v_soon  interval := interval '200 milliseconds';
  v_next  timestamptz;   -- when to look again
  v_some  bigint[];
  v_told  jsonb;         -- by batch, what is to be written
begin
  v_quiet := array(
    select b.id from fairmill.batch b
    where b.id = any (batches) and b.state = 'pending'
      and (select j.id from fairmill.job j where j.batch = b.id order by j.id desc limit 1) is null
      and (select c.id from fairmill.batch c where c.parent = b.id and c.state in ('waiting', 'pending')
        order by c.id desc limit 1) is null);
  if cardinality(v_quiet) = 0 then
    return v_quiet;
  end if;

  with gone as (delete from fairmill.batch_hold h where h.batch = any (v_quiet) and h.until <= v_now returning h.batch)
  select array_agg(g.batch), jsonb_object_agg(g.batch::text, g.holds) into v_some, v_told
  from (select gone.batch, count(*) as holds from gone group by 1) g;
  if v_some is not null then
    update fairmill.batch b set lost = b.lost + (v_told ->> b.id::text)::integer where b.id = any (v_some);
  end if;

  -- Held open, or waiting for more members: not before then.
  select array_agg(w.id), jsonb_object_agg(w.id::text, jsonb_build_array(w.check_at, w.until is null)), min(w.check_at)
    into v_some, v_told, v_next
  from (
    select s.id, s.until, s.stable_at,
      coalesce(s.until, greatest(s.stable_at, v_now + s.poll_ms * interval '1 millisecond')) as check_at
    from (
      select b.id, coalesce(b.poll_ms, 0) as poll_ms, held.until,
        case when held.until is null and b.window_ms is not null and b.registered_at is not null
          then least(b.registered_at + b.window_ms * interval '1 millisecond',
            coalesce(b.closed_at, v_now) + b.max_wait_ms * interval '1 millisecond') end as stable_at
      from fairmill.batch b
      cross join lateral (select min(h.until) as until from fairmill.batch_hold h where h.batch = b.id) held
      where b.id = any (v_quiet)) s) w
  where w.until is not null or w.stable_at > v_now;
  if v_some is not null then
    update fairmill.batch b
    set closed_at = case when (v_told -> b.id::text ->> 1)::boolean then coalesce(b.closed_at, v_now) end,
      check_at = (v_told -> b.id::text ->> 0)::timestamptz
    where b.id = any (v_some);
    v_quiet := array(select unnest(v_quiet) except select unnest(v_some));
  end if;
  v_over := array(select b.id from fairmill.batch b where b.id = any (v_quiet) order by b.id for update skip locked);
  if cardinality(v_over) < cardinality(v_quiet) then
    update fairmill.batch b set check_at = v_now + v_soon
    where b.id = any (array(select unnest(v_quiet) except select unnest(v_over)));
    v_next := least(v_next, v_now + v_soon);
  end if;
  if v_next < v_now + interval '10 seconds' then
    -- To workers that are awake, too: no claim would tell them of it.
    perform pg_notify('fairmill', '!due ' || greatest(0, ceil(extract(epoch from v_next - v_now) * 1000)))
    where exists (select from fairmill.worker w where w.state = 'alive' and w.lease_until > v_now);
  end if;
  -- Sessions that were adding have committed: look again, now that no other session can add.
  return array(
    select b.id from fairmill.batch b
    where b.id = any (v_over)
      and (select j.id from fairmill.job j where j.batch = b.id order by j.id desc limit 1) is null
      and (select c.id from fairmill.batch c where c.parent = b.id and c.state in ('waiting', 'pending')
        order by c.id desc limit 1) is null
      and (select h.until from fairmill.batch_hold h where h.batch = b.id order by h.until limit 1) is null);
end
$$;
