-- Forgets files of a storage whose jobs are gone, after they were removed.
--   keys, job_ids  beside each other, as check_contents_v1 answered them
-- Result: how many were known.
-- Locks: 35 content (one by one).
-- Plan expected: content by its primary key.
create or replace function fairmill.forget_contents_v1(storage text, keys text[], job_ids bigint[])
returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  v_count integer;
begin
  delete from fairmill.content c using unnest(keys, job_ids) as gone (key, job_id)
  where c.storage = forget_contents_v1.storage and c.key = gone.key and c.job_id = gone.job_id
    and c.gone_at is not null;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
