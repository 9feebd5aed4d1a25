-- Stores lines of jobs' logs. Of each job the first lines are kept, at most lines_max and bytes_max; a last line says
-- that more were written.
--   lines  in order: [{"job": 17, "at": "2026-11-18T04:00:00Z", "level": "info", "attempt": 1,
--          "line": {"message": "…", "fields": {}}}]
-- Result: how many were kept. Not fenced: a line says what happened, also where the lease is lost.
-- Locks: none. Two workers that write of one job at once may keep up to one call more than the bound.
-- Plan expected: for each job of the list its lines by the primary key, at most lines_max of them.
create or replace function fairmill.append_logs_v1(
  lines jsonb, lines_max integer default 1000, bytes_max integer default 262144)
returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  v_kept integer;
begin
  with given as (
    select (l.value ->> 'job')::bigint as job_id, l.no, (l.value ->> 'at')::timestamptz as at,
      l.value ->> 'level' as level, (l.value ->> 'attempt')::smallint as attempt, l.value -> 'line' as line,
      octet_length((l.value -> 'line')::text) as bytes
    from jsonb_array_elements(lines) with ordinality as l (value, no)),
  before as (
    select g.job_id, (select count(*) from fairmill.job_log x where x.job_id = g.job_id) as lines,
      (select coalesce(sum(x.bytes), 0) from fairmill.job_log x where x.job_id = g.job_id) as bytes
    from (select distinct job_id from given) g),
  counted as (
    select g.*, b.lines + count(*) over of_job as lines_by_then, b.bytes + sum(g.bytes) over of_job as bytes_by_then
    from given g join before b on b.job_id = g.job_id
    window of_job as (partition by g.job_id order by g.no)),
  -- The last place is for the line that says that there were more.
  kept as (
    insert into fairmill.job_log (job_id, at, level, attempt, bytes, line)
    select c.job_id, c.at, c.level, c.attempt, c.bytes, c.line from counted c
    where c.lines_by_then < lines_max and c.bytes_by_then <= bytes_max
    order by c.no
    returning 1),
  cut as (
    insert into fairmill.job_log (job_id, at, level, attempt, bytes, line, cut)
    select distinct on (c.job_id) c.job_id, c.at, 'warn', c.attempt, 0,
      jsonb_build_object('fields', '{}'::jsonb, 'message',
        format('Further lines are not kept: a job keeps %s lines and %s bytes', lines_max, bytes_max)), true
    from counted c
    where (c.lines_by_then >= lines_max or c.bytes_by_then > bytes_max)
      and not exists (select from fairmill.job_log x where x.job_id = c.job_id and x.cut)
    order by c.job_id, c.no
    returning 1)
  select (select count(*) from kept) into v_kept;
  return v_kept;
end
$$;
