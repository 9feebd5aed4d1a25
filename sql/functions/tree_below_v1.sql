-- A batch and everything inside it.
-- Plan expected: one probe of batch_inside per batch.
create or replace function fairmill.tree_below_v1(batch_id bigint)
returns bigint[]
language sql stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  with recursive below (id) as (
    select b.id from fairmill.batch b where b.id = batch_id
    union all
    select c.id from below cross join lateral (select x.id from fairmill.batch x where x.parent = below.id offset 0) c)
  select coalesce(array_agg(below.id), '{}') from below
$$;
