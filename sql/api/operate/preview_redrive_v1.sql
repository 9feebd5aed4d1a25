-- What redrive_v1 would revive, without doing it: counted, and grouped by kind and code of the error.
--   filter    as pick_dead reads it
--   jobs_max  looks at no more than this many dead jobs;  after_id: begins behind this id
-- Result: how many fit, how many were looked at, the id to go on behind, whether there may be more; groups: an array of
-- kind, error_code (null: none) and count, largest first; samples: the first ids of them, ten at most.
-- Locks: none. Plan expected: as pick_dead, then the primary keys of the history.
create or replace function fairmill.preview_redrive_v1(filter jsonb, jobs_max integer default 10000,
  after_id bigint default 0, out fitting integer, out seen integer, out last_id bigint, out more boolean,
  out groups jsonb, out samples bigint[])
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_ids  bigint[];
  v_ends timestamptz[];
begin
  select p.ids, p.ends, p.seen, p.last_id, p.more into v_ids, v_ends, seen, last_id, more
  from fairmill.pick_dead(filter, jobs_max, jobs_max, after_id) p;
  fitting := cardinality(v_ids);
  samples := v_ids[1:10];
  select coalesce(jsonb_agg(
      jsonb_build_object('kind', g.kind, 'error_code', g.code, 'count', g.n)
      order by g.n desc, g.kind, g.code), '[]')
    into groups
  from (
    select h.kind, h.error ->> 'code' as code, count(*) as n
    from unnest(v_ids, v_ends) as picked (id, ended_at)
    join fairmill.job_history h on h.id = picked.id and h.ended_at = picked.ended_at
    group by 1, 2) g;
end
$$;
