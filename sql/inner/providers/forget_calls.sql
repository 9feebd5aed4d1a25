-- Removes what is old of calls: figures by minute after two days, events of providers with the history, charges of
-- calls whose jobs the history no longer has, sums of costs after 400 days. Part of retention, in bounded portions.
-- Locks: 30 call record (those that are free).
-- Plan expected: the oldest rows by their index.
create or replace function fairmill.forget_calls(before timestamptz, rows_max integer)
returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  v_count   integer;
  v_removed integer := 0;
begin
  delete from fairmill.provider_minute m where m.ctid = any (array(
    select x.ctid from fairmill.provider_minute x where x.minute < greatest(before, now() - interval '2 days')
    order by x.minute limit rows_max for update skip locked));
  get diagnostics v_count = row_count;
  v_removed := v_removed + v_count;
  delete from fairmill.provider_event e where e.ctid = any (array(
    select x.ctid from fairmill.provider_event x where x.at < before
    order by x.at limit rows_max for update skip locked));
  get diagnostics v_count = row_count;
  v_removed := v_removed + v_count;
  delete from fairmill.provider_charge c where c.ctid = any (array(
    select x.ctid from fairmill.provider_charge x
    where x.begun_at < before and (select j.id from fairmill.job j where j.id = x.job_id) is null
    order by x.begun_at limit rows_max for update skip locked));
  get diagnostics v_count = row_count;
  v_removed := v_removed + v_count;
  delete from fairmill.provider_cost s where s.ctid = any (array(
    select x.ctid from fairmill.provider_cost x where x.day < (now() - interval '400 days')::date
    order by x.day limit rows_max for update skip locked));
  get diagnostics v_count = row_count;
  return v_removed + v_count;
end
$$;
