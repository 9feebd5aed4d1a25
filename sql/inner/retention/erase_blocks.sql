-- Erases what a few blocks of a table have of a tenant. Rows that another session has locked are left for a later
-- round.
--   part, condition, change  a line of erased_tables
-- Result: how many rows; steps and lines of the history's jobs besides; whether it was the end of the table.
-- Locks: as remove_ended, or 10 message, or 11 tree, or those of the one table (those that are free).
-- Plan expected: a range of ctids.
create or replace function fairmill.erase_blocks(erasure fairmill.tenant_erasure, part text, condition text,
  change text, from_block bigint, blocks_max integer,
  out erased integer, out steps integer, out lines integer, out is_end boolean)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_ctids tid[];
  v_name  text := 'erased-' || erasure.id;
begin
  steps := 0;
  lines := 0;
  is_end := from_block + blocks_max
    >= pg_relation_size(format('fairmill.%I', part)::regclass) / current_setting('block_size')::bigint;
  -- Each statement names all four values, whichever it needs.
  execute format('select coalesce(array_agg(f.tid), ''{}'') from (
      select x.ctid as tid from fairmill.%I x where x.ctid >= %L::tid and x.ctid < %L::tid and (%s)
        and ($1::text, $2::text, $3::text, $4::text) is not null for update skip locked) f', part,
    format('(%s,0)', from_block), format('(%s,0)', from_block + blocks_max),
    replace(replace(replace(condition, '$1', '$1::text'), '$2', '$2::text'), '$3', '$3::text'))
  into v_ctids
  using erasure.tenant, coalesce(erasure.account, ''), coalesce(erasure.cache_prefix, erasure.tenant), v_name;
  erased := cardinality(v_ctids);
  if erased = 0 then
    return;
  end if;
  if part like 'job\_history\_%' then
    select r.jobs, r.steps, r.lines into erased, steps, lines from fairmill.remove_ended(part, v_ctids) r;
  elsif change is null then
    execute format('delete from fairmill.%I x where x.ctid = any ($1)', part) using v_ctids;
  else
    execute format('update fairmill.%I x set %s where x.ctid = any ($2) and ($3::text, $4::text) is not null', part,
      replace(change, '$1', '$1::text')) using erasure.tenant, v_ctids, '', v_name;
  end if;
end
$$;
