-- All upkeep in one bounded call: what workers do now and then, and what a database cron can do alone.
-- Result: what was done, and when the next thing falls due (a scheduled job, a lease that ends, a time to live, a batch
-- to look at, the tick of a schedule, the end of a pause): call again then. Ticks are computed by workers, see
-- tick_schedule_v1.
-- batches: those that are over because they have no hold any more and no member was added for long enough.
-- A rule that a caller's transaction reported (report_key_limits_v1) is applied by a call of its own, which does
-- nothing else and asks to be called again at once: a change of a rule locks what the rest takes in another order.
-- Pauses that have ended are cleared in the same way. Limits that were defined again are applied (adopt_limits), and
-- jobs that wait for units which are free are due (pull_waiting).
-- Locks: as adopt_limits, then as pull_waiting, then 4 worker, 8 job, 10 message (those that are free), then as
-- finish_transitions, then as check_batches, then as history_partitions_v1, then as retention, then as add_up_accounts,
-- then as forget_claim_lists, then as end_lost_children; or as adopt_key_limits or as end_pauses alone.
create or replace function fairmill.tick_upkeep_v1(jobs_max integer default 1000, crashes_max integer default 3,
  history_keep interval default '30 days', out promoted integer, out expired integer, out recovered integer,
  out ended integer, out removed integer, out next_in_ms float8, out batches bigint[])
language plpgsql
as $$
#variable_conflict use_column
declare
  v_due      record;
  v_expired  record;
  v_held     record;
  v_marked   text[];
  v_freed    tid[];
  v_accounts integer;
  v_batches  record;
  v_turns    record;
begin
  if fairmill.adopt_key_limits() is not null or fairmill.end_pauses() > 0 then
    promoted := 0;
    expired := 0;
    recovered := 0;
    ended := 0;
    removed := 0;
    next_in_ms := 0;
    batches := '{}';
    return;
  end if;
  perform fairmill.adopt_limits();
  perform fairmill.pull_waiting();
  select * into v_due from fairmill.promote_rows(jobs_max);
  select * into v_expired from fairmill.expire_rows(jobs_max);
  select * into v_held from fairmill.recover_rows(jobs_max, crashes_max);
  perform fairmill.count_running();
  select * into v_turns from fairmill.recheck_order(jobs_max);
  -- These keys are marked: a job may be blocked although a slot is free.
  select array_agg(m.name), array_agg(m.tid) filter (where m.use = 'freed') into v_marked, v_freed
  from (select x.name, x.use, x.ctid as tid from fairmill.meter x where x.recheck order by x.name limit jobs_max) m;
  if v_freed is not null then
    -- Marks of slots that were given up (replace_waiting) have done their work, but for those another session is
    -- making again. Asked in this way no index fits, and they are found by their ctids.
    delete from fairmill.meter m where m.ctid = any (array(
      select x.ctid from fairmill.meter x
      where x.ctid = any (v_freed) and x.use is not distinct from 'freed' and x.name = any (v_marked)
      for update skip locked));
  end if;
  perform fairmill.finish_transitions(v_due.queues || v_held.queues,
    v_due.keys || v_expired.keys || v_held.keys || v_marked,
    coalesce(v_expired.members || v_held.members, v_expired.members, v_held.members));
  select * into v_batches from fairmill.check_batches(jobs_max);
  batches := v_batches.over;
  promoted := v_due.promoted;
  expired := v_expired.expired;
  recovered := v_held.recovered;
  ended := v_held.ended;
  removed := 0;
  -- Partitions and retention are one caller's work at a time.
  if pg_try_advisory_xact_lock(hashtext('fairmill.upkeep')) then
    perform fairmill.history_partitions_v1();
    removed := fairmill.retention(history_keep);
  end if;
  -- Late, because enqueues for these accounts wait from here on.
  v_accounts := fairmill.add_up_accounts(jobs_max);
  perform fairmill.forget_claim_lists();
  perform fairmill.end_lost_children();
  next_in_ms := case
    when greatest(promoted, expired, recovered + ended, v_accounts, v_turns.started, v_batches.checked) >= jobs_max
      then 0
    -- Another session has locked the next message of an order key: look again later.
    when v_turns.remaining > 0 then 1000
    else extract(epoch from least(
      (select s.run_at from fairmill.job s where s.aside = 'scheduled' order by s.run_at limit 1),
      (select x.expire_at from fairmill.job x
        where x.expire_at is not null and x.state <> 'running'
        order by x.expire_at limit 1),
      (select b.check_at from fairmill.batch b where b.check_at is not null order by b.check_at limit 1),
      (select l.paused_until from fairmill.limit_setting l
        where l.paused_until is not null
        order by l.paused_until limit 1),
      (select greatest(c.next_at, c.not_before) from fairmill.schedule c
        where c.paused_at is null
        order by greatest(c.next_at, c.not_before) limit 1),
      -- Computed by a clock that was ahead: to be computed again, unless that failed just now.
      (select clock_timestamp() from fairmill.schedule c
        where c.paused_at is null and c.moved_at > now() + interval '2 seconds'
          and coalesce(c.not_before, '-infinity') not between now() and now() + interval '10 seconds' limit 1),
      (select min(w.lease_until) from fairmill.worker w where w.state = 'alive')) - clock_timestamp()) * 1000 end;
  -- Rules of retention are walking along the history: small steps, one after the other.
  if current_setting('fairmill.walking', true) = 'yes' then
    next_in_ms := least(next_in_ms, 100);
  end if;
end
$$;
