-- Makes the delivery job of a message whose turn has come. The caller has locked the row.
-- Its time to live counts from the publish, or from its send time: a message that waited too long for its turn is late.
-- Locks: none: the caller has 10 message.
create or replace function fairmill.start_message(message_id bigint)
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_row  fairmill.outbox;
  v_jobs fairmill.new_job[];
begin
  select * into v_row from fairmill.outbox o where o.id = message_id;
  v_jobs := fairmill.find_limit_keys(
    fairmill.parse_jobs(jsonb_build_array(v_row.waiting || jsonb_build_object('outbox', v_row.id)), '{}'));
  if v_jobs[1].when_full is not null and v_jobs[1].state = 'ready' then
    -- Its promotion finds the slot: the settle that calls this has not locked the key.
    v_jobs[1].state := 'scheduled';
    v_jobs[1].run_at := coalesce(v_jobs[1].run_at, now());
  end if;
  v_jobs[1].expire_ms := v_jobs[1].expire_ms
    - case when v_row.waiting ? 'run_at' then 0 else extract(epoch from now() - v_row.created_at) * 1000 end;
  perform fairmill.insert_jobs(v_jobs);
  update fairmill.outbox o set job_id = v_jobs[1].id, waiting = null, recheck = false where o.id = message_id;
  perform fairmill.wake_v1(case when v_jobs[1].state = 'ready' then array[v_jobs[1].queue] end,
    case when v_jobs[1].state = 'scheduled' then extract(epoch from v_jobs[1].run_at - now()) * 1000 end);
end
$$;
