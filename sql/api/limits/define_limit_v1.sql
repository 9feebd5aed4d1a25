-- Defines a named limit: windows of units that jobs of any kinds share. The library calls it for every limit that a
-- definition uses, once per process; the one that was reported last is in force.
--   name         of the limit
--   windows      [{"unit": "tokens", "limit": 200000, "per_ms": 60000}, …], at most 20
--   reported_at  when the caller reported these windows for the first time, as answered then; null: now
-- Result: is_new, whether it says something new; first_reported_at.
-- What is spent counts on under the new windows. Jobs that wait are checked again by the next upkeep.
-- Locks: none. Each report is a row of its own, so it may be called in a transaction that goes on for a while.
create or replace function fairmill.define_limit_v1(name text, windows jsonb, reported_at timestamptz default null,
  out is_new boolean, out first_reported_at timestamptz)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_windows jsonb;
  v_last    fairmill.named_limit;
begin
  first_reported_at := coalesce(define_limit_v1.reported_at, clock_timestamp());
  if jsonb_typeof(windows) is distinct from 'array' or exists (
    select from jsonb_array_elements(windows) as w (own)
    where jsonb_typeof(w.own) <> 'object'
      or not coalesce(w.own ->> 'unit' ~ '^[A-Za-z][A-Za-z0-9_]{0,39}$', false)
      or not case when jsonb_typeof(w.own -> 'limit') = 'number'
        then (w.own -> 'limit')::numeric between 1 and 1000000000
          and (w.own -> 'limit')::numeric = trunc((w.own -> 'limit')::numeric) else false end
      or not case when jsonb_typeof(w.own -> 'per_ms') = 'number'
        then (w.own -> 'per_ms')::numeric between 1 and 2592000000
          and (w.own -> 'per_ms')::numeric = trunc((w.own -> 'per_ms')::numeric) else false end) then
    raise exception 'the windows of limit "%" are not valid', name using errcode = 'FM001',
      hint = 'Pass [{"unit": "tokens", "limit": 200000, "per_ms": 60000}]: limit from 1 to 1000000000, per_ms up to '
        '30 days, unit a word of letters, digits and underscores.';
  end if;
  select jsonb_agg(
      jsonb_build_object('unit', w.own -> 'unit', 'limit', w.own -> 'limit', 'per_ms', w.own -> 'per_ms', 'n', w.same)
      order by w.n)
    into v_windows
  from (
    select x.own, x.n, row_number() over (partition by x.own ->> 'unit' order by x.n) as same
    from jsonb_array_elements(windows) with ordinality as x (own, n)) w;
  select * into v_last from fairmill.named_limit l
  where l.name = define_limit_v1.name
  order by l.reported_at desc, l.id desc limit 1;
  is_new := v_last.id is null
    or v_last.windows is distinct from v_windows and v_last.reported_at <= first_reported_at;
  if is_new then
    insert into fairmill.named_limit (name, windows, reported_at)
    values (define_limit_v1.name, coalesce(v_windows, '[]'), first_reported_at);
    if v_last.id is not null then
      perform fairmill.wake_v1(null, 0);
    end if;
  end if;
end
$$;
