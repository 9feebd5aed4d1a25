-- Batches and everything inside them.
-- Result: their ids, these included.
-- Locks: none.
-- Plan expected: one probe of batch_inside per batch.
create or replace function fairmill.batches_within_v1(batches bigint[])
returns bigint[]
language sql stable
as $$
  with recursive below (id) as (
    select b.id from fairmill.batch b where b.id = any (batches)
    union all
    select c.id from below cross join lateral (select x.id from fairmill.batch x where x.parent = below.id offset 0) c)
  select coalesce(array_agg(below.id), '{}') from below
$$;
