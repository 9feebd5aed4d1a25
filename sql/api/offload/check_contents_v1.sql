-- Which files of a storage have lost their jobs: the next ones that are due to be looked at. A job is looked for again
-- after an eighth of its file's age, at least a minute and at most a day.
--   keep_ms  a file stays for this time after its job was first missed: a transaction that repeats the job may still be
--            open
-- Result: files whose time has come. is_last: no job that is there has the file, and none was missed too lately:
-- remove it, then call forget_contents_v1. A call that does not is no harm: the same files come again after ten
-- minutes. looked: how many rows were looked at, in each row of the result, and in one of its own where there is
-- nothing to remove.
-- Locks: 35 content (those that are free).
-- Plan expected: content_due; jobs by their ids.
create or replace function fairmill.check_contents_v1(storage text, rows_max integer default 500,
  keep_ms bigint default 600000)
returns table (key text, job_id bigint, is_last boolean, looked integer)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_looked integer;
  v_gone   jsonb;
begin
  with due as (
    select c.storage, c.key, c.job_id, c.put_at, c.gone_at from fairmill.content c
    where c.storage = check_contents_v1.storage and c.check_at <= now()
    order by c.check_at limit rows_max for update skip locked),
  seen as (
    select d.*, (select j.id from fairmill.job j where j.id = d.job_id) is not null
      or (select h.id from fairmill.job_history h where h.id = d.job_id limit 1) is not null as lives
    from due d),
  noted as (
    update fairmill.content c
    set gone_at = case when not s.lives then coalesce(s.gone_at, now()) end,
      check_at = now() + case
        when s.lives then least(greatest((now() - s.put_at) / 8, interval '1 minute'), interval '1 day')
        when s.gone_at is null then least(keep_ms, 600000) * interval '1 millisecond' else interval '10 minutes' end
    from seen s where c.storage = s.storage and c.key = s.key and c.job_id = s.job_id
    returning s.key, s.job_id, not s.lives
      and coalesce(s.gone_at, now()) <= now() - keep_ms * interval '1 millisecond' as is_over)
  select count(*)::integer, jsonb_agg(jsonb_build_array(n.key, n.job_id)) filter (where n.is_over)
    into v_looked, v_gone
  from noted n;
  return query
    select g.gone ->> 0, (g.gone ->> 1)::bigint, not exists (
        select from fairmill.content c
        where c.storage = check_contents_v1.storage and c.key = g.gone ->> 0
          and c.job_id <> (g.gone ->> 1)::bigint
          and coalesce(c.gone_at > now() - keep_ms * interval '1 millisecond', true)),
      v_looked
    from jsonb_array_elements(v_gone) as g (gone);
  if v_gone is null then
    return query select null::text, null::bigint, null::boolean, v_looked;
  end if;
end
$$;
