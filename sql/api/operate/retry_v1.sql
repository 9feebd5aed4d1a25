-- Runs a job again, with its attempts counted from 0. Result: ready (a dead or cancelled job is back in the queue, a
-- waiting one is due now), blocked (so, but its key has no free slot), running (it runs already), done (a job that
-- succeeded is not run again), or not_found; or no_credits: the job had reserved credits that were given back, and its
-- account cannot reserve them again; or order_busy: the message that it delivers may have arrived, or another of its
-- order key is under way: see resolve_delivery_v1.
-- Locks: 7 ended job, 8 job, then as revive, then as finish_transitions.
create or replace function fairmill.retry_v1(job_id bigint)
returns text
language plpgsql
as $$
#variable_conflict use_column
declare
  v_state    text;
  v_ended_at timestamptz;
  v_outbox   bigint;
  v_back     record;
begin
  select j.state into v_state from fairmill.job j where j.id = job_id for update;
  if found and v_state <> 'scheduled' then
    return v_state;
  end if;
  if found then
    update fairmill.job j set run_at = clock_timestamp() where j.id = job_id;
    perform fairmill.finish_transitions(a.queues, a.keys) from fairmill.admit_due(array[job_id]) a;
    return (select j.state from fairmill.job j where j.id = job_id);
  end if;

  -- Another session that revives it has it locked: then this waits, and finds nothing.
  select h.ended_at, h.outbox into v_ended_at, v_outbox from fairmill.job_history h
  where h.id = job_id and h.state in ('dead', 'cancelled')
  for update;
  if found then
    select * into v_back from fairmill.revive(array[job_id], array[v_ended_at]);
    if cardinality(v_back.brought) = 0 then
      return case when v_outbox is null then 'no_credits' else 'order_busy' end;
    end if;
    perform fairmill.finish_transitions(v_back.queues, v_back.keys, revived => v_back.members);
    return (select j.state from fairmill.job j where j.id = job_id);
  end if;
  -- Another session has revived it: it is live again, and only its state is left to report.
  return coalesce(
    (select 'done' from fairmill.job_history h where h.id = job_id and h.state = 'done' limit 1),
    (select j.state from fairmill.job j where j.id = job_id),
    'not_found');
end
$$;
