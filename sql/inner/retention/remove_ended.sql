-- Removes rows of one partition of the history, by their ctids, with the steps and log lines of these jobs. Rows that
-- another session has locked stay. Result: how many rows of the history went, and how many steps and lines with them.
-- Locks: 7 ended job (those that are free), 9 step, 23 observation.
-- Plan expected: the rows by their ctids; steps and lines by their primary keys.
create or replace function fairmill.remove_ended(part text, ctids tid[],
  out jobs integer, out steps integer, out lines integer)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_ids bigint[];
begin
  execute format('with gone as (
      delete from fairmill.%1$I h where h.ctid = any (array(
        select x.ctid from fairmill.%1$I x where x.ctid = any ($1) for update skip locked))
      returning h.id)
    select coalesce(array_agg(g.id), ''{}'') from gone g', part) into v_ids using ctids;
  jobs := cardinality(v_ids);
  steps := 0;
  lines := 0;
  if jobs > 0 then
    delete from fairmill.step s where s.job_id = any (v_ids);
    get diagnostics steps = row_count;
    delete from fairmill.job_log l where l.job_id = any (v_ids);
    get diagnostics lines = row_count;
  end if;
end
$$;
