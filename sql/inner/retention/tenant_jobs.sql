-- The live jobs of a tenant that lie in a few blocks of the table. Result: their ids, sorted, and whether it was the
-- end of the table.
--   also_told  also those that were asked to cancel
-- Locks: none.
-- Plan expected: a range of ctids.
create or replace function fairmill.tenant_jobs(tenant text, also_told boolean, from_block bigint, blocks_max integer,
  out ids bigint[], out is_end boolean)
language plpgsql
as $$
#variable_conflict use_column
begin
  is_end := from_block + blocks_max
    >= pg_relation_size('fairmill.job'::regclass) / current_setting('block_size')::bigint;
  execute format('select coalesce(array_agg(x.id order by x.id), ''{}'') from fairmill.job x
      where x.ctid >= %L::tid and x.ctid < %L::tid and x.tenant = $1 and ($2 or x.cancel_requested_at is null)',
    format('(%s,0)', from_block), format('(%s,0)', from_block + blocks_max)) into ids using tenant, also_told;
end
$$;
