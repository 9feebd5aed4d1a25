-- Puts a rule of a kind in force that was reported at some time, unless another one was reported later. Part of
-- set_key_limits_v1 and adopt_key_limits.
--   report  the rule, as read_key_limits made it, with its reported_at
-- Jobs that are enqueued from then on obey it; for those that wait already, only the numbers change. Result: whether it
-- is new.
-- A job that was rate-limited by a rate that has changed is due at once: it is promoted, asks the new rate, and is
-- given a start time by it.
-- A delayed job that holds a slot of a kind that refused gives it up when the kind does not refuse any more.
-- Upkeep does the rest.
-- Locks: 2 report (those that were adopted, under the lock of the kind), 3 kind, with a cap 5 limit meter, 6 limit
-- setting, 17 key meter, 19 waiting job, 20 queue mark.
-- So never inside a transaction
-- of a caller: report_key_limits_v1 is for those.
-- Plan expected: a range of meter; if the rate is another one a range of job_rate_limited, if it refused before one of
-- job_slot; a probe of job_blocked for each meter.
create or replace function fairmill.change_key_limits(report fairmill.key_limit_report)
returns boolean
language plpgsql
set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_kind    constant text := report.kind;
  v_new     constant fairmill.key_limit := (report.kind, report.per, report.max_running, report.when_full,
    report.rate_limit, report.rate_per_ms, report.rate_how, report.rate_at)::fairmill.key_limit;
  v_old     fairmill.key_limit;
  -- All keys of the kind: the text of a key is its JSON, a quotation mark ends the kind, and the next character after
  -- that is #.
  v_from    constant text := '[' || to_jsonb(report.kind)::text;
  v_to      constant text := left(v_from, -1) || '#';
  v_at      constant timestamptz := clock_timestamp();
  v_is_paced_anew boolean;
  v_is_due  boolean := false;
  v_cap     constant integer := report.kind_max_running;
  v_old_cap integer;
begin
  -- Most reports repeat the rule that is in force.
  if fairmill.are_key_limits(report)
    and not exists (select from fairmill.key_limit_report t where t.kind = v_kind and not t.adopted) then
    return false;
  end if;
  -- One change of a kind at a time, and each looks again: of two that came at once the one that was reported last
  -- stays.
  perform pg_advisory_xact_lock(hashtext('fairmill.key_limit'), hashtext(v_kind));
  if exists (select from fairmill.key_limit_report t where t.kind = v_kind and t.adopted
    and t.reported_at > report.reported_at) then
    return false;
  end if;
  delete from fairmill.key_limit_report t where t.kind = v_kind and t.adopted;
  insert into fairmill.key_limit_report (kind, reported_at, adopted, per, max_running, when_full, rate_limit,
    rate_per_ms, rate_how, rate_at, kind_max_running)
  values (report.kind, report.reported_at, true, report.per, report.max_running, report.when_full, report.rate_limit,
    report.rate_per_ms, report.rate_how, report.rate_at, report.kind_max_running);
  if fairmill.are_key_limits(report) then
    return false;
  end if;
  select * into v_old from fairmill.key_limit r where r.kind = v_kind;
  v_old_cap := (select g.defined_max_running from fairmill.limit_setting g where g.scope = 'kind' and g.name = v_kind);
  if v_old_cap is distinct from v_cap then
    perform fairmill.lock_meters('start', 'kind', array[v_kind]);
  end if;
  if v_new.max_running is null and v_new.rate_limit is null then
    delete from fairmill.key_limit r where r.kind = v_kind;
  else
    insert into fairmill.key_limit values (v_new.*)
    on conflict on constraint key_limit_pkey do update
    set per = excluded.per, max_running = excluded.max_running, when_full = excluded.when_full,
      rate_limit = excluded.rate_limit,
        rate_per_ms = excluded.rate_per_ms, rate_how = excluded.rate_how, rate_at = excluded.rate_at;
  end if;
  v_is_paced_anew := (v_old.rate_limit, v_old.rate_per_ms, v_old.rate_how, v_old.rate_at)
    is distinct from (v_new.rate_limit, v_new.rate_per_ms, v_new.rate_how, v_new.rate_at);
  -- All keys are locked first and looked at afterwards, in statements of their own: a session that counted under one of
  -- these locks by the old rule has committed then, and nothing is overlooked.
  if v_old.max_running is not null or v_is_paced_anew and v_old.rate_at = 'start' then
    perform fairmill.lock_meters('start', 'key', array(
      select x.name from fairmill.meter x where x.use = 'start' and x.scope = 'key' and x.name >= v_from
        and x.name < v_to));
  end if;
  -- Here and below: said with an order that no other index has, so that statistics cannot talk the planner out of this
  -- one.
  if v_is_paced_anew then
    update fairmill.job j set run_at = v_at
    where j.ctid = any (array(
      select w.ctid from fairmill.job w
      where w.limit_key >= v_from and w.limit_key < v_to and w.aside = 'scheduled' and w.rate_limited
        and w.run_at > v_at
      order by w.limit_key for update skip locked));
    v_is_due := found;
  end if;
  if v_old.max_running is not null and v_old.when_full = 'refuse'
    and (v_new.max_running is null or v_new.when_full <> 'refuse') then
    update fairmill.job j set slot = null
    where j.ctid = any (array(
      select h.ctid from fairmill.job h
      where h.slot is not null and h.limit_key >= v_from and h.limit_key < v_to and h.aside = 'scheduled'
        and h.rate_limited is not true
      order by h.limit_key for update skip locked));
  end if;
  -- More slots, or none to count: the next upkeep looks at the blocked jobs.
  if v_old.max_running is not null then
    update fairmill.meter m set recheck = true
    where m.use = 'start' and m.scope = 'key' and m.name >= v_from and m.name < v_to and not m.recheck
      and (select b.id from fairmill.job b where b.aside = 'blocked' and b.limit_key = m.name limit 1) is not null;
    v_is_due := v_is_due or found;
  end if;
  if v_is_due then
    perform fairmill.wake_v1(null, 0);
  end if;
  -- Last, because it raises the marks of queues.
  if v_old_cap is distinct from v_cap then
    perform fairmill.set_limits_v1('kind', v_kind, jsonb_build_object('defined_max_running', v_cap));
  end if;
  return true;
end
$$;
