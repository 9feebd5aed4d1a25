-- Enqueues the job of a schedule now, or starts its flow, on request. This is no tick: the next one stays as it is.
--   alone   the transaction ends with this, as for enqueue_many_v1
-- Result: as enqueue_many_v1 with partial; of a flow its id. No row when there is no such schedule.
-- Locks: as enqueue_many_v1.
create or replace function fairmill.run_schedule_v1(name text, alone boolean default true)
returns table (id bigint, created boolean, conflict text, refused jsonb)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_job jsonb := (select s.job from fairmill.schedule s where s.name = run_schedule_v1.name);
begin
  if v_job ? 'flow' then
    return query select f.id, f.id is not null, null::text, f.refused from fairmill.start_flow_v1(v_job -> 'flow') f;
  elsif v_job is not null then
    return query select e.* from fairmill.enqueue_many_v1(jsonb_build_array(v_job), '{}', wake => true,
      alone => run_schedule_v1.alone, partial => true) e;
  end if;
end
$$;
