-- The running jobs, of one worker or of all, found along the lists of their workers.
--   worker_id  null: all workers;  jobs_max: at most so many
-- Plan expected: the lists by their primary key, then each job by its own.
create or replace function fairmill.claimed_jobs(worker_id text default null, jobs_max integer default null)
returns table (id bigint, worker text, queue text, tenant text, kind text)
language plpgsql stable
as $$
#variable_conflict use_column
begin
  return query
    select j.id, j.worker, j.queue, j.tenant, j.kind
    -- A job that was given back and claimed again is in two lists.
    from (select distinct h.worker, u.id from fairmill.claim_list h cross join lateral unnest(h.ids) as u (id)
          where h.worker >= coalesce(worker_id, '') and (worker_id is null or h.worker <= worker_id)) listed
    cross join lateral (select r.id, r.worker, r.queue, r.tenant, r.kind from fairmill.job r where r.id = listed.id
      and r.worker is not distinct from listed.worker offset 0) j
    limit jobs_max;
end
$$;
