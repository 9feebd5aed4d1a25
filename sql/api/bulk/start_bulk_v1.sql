-- Stores an action on all jobs that fit a filter; step_bulk_v1 carries it out. Jobs that are enqueued from here on are
-- not touched.
--   action  cancel (live jobs) | retry (dead and cancelled ones, and scheduled ones at once) | redrive (dead ones;
--           cancelled ones where the filter's states say so) | rerun (a new job like each that has ended)
--   filter  as pick_jobs reads it;  actor: by whom;  tenant: null, or the only tenant whose jobs may be touched
--   reason  for the record
-- Result: its id.
-- Locks: none.
create or replace function fairmill.start_bulk_v1(action text, filter jsonb, actor text, tenant text default null,
  reason text default null)
returns bigint
language plpgsql
as $$
#variable_conflict use_column
declare
  v_filter jsonb := filter;
  v_id     bigint;
begin
  if fairmill.bulk_states(action) is null then
    raise exception 'there is no bulk action "%"', action using errcode = 'FM001',
      hint = 'Say cancel, retry, redrive or rerun.';
  end if;
  if jsonb_typeof(filter) is distinct from 'object' then
    raise exception 'filter must be a JSON object' using errcode = 'FM001',
      hint = 'Pass {"kind": "…"}.';
  end if;
  if action = 'redrive' and not filter ? 'states' then
    v_filter := v_filter || '{"states": ["dead"]}';
  end if;
  if tenant is not null then
    v_filter := v_filter || jsonb_build_object('tenant', tenant);
  end if;
  -- Refuses what it cannot read, before anything is stored.
  perform fairmill.pick_jobs(fairmill.bulk_states(action), v_filter, 1, 1, 0, 0);
  insert into fairmill.bulk_action (action, filter, actor, tenant, reason, up_to_id)
  select start_bulk_v1.action, v_filter, start_bulk_v1.actor, start_bulk_v1.tenant, start_bulk_v1.reason, s.last_value
  from fairmill.job_id_seq s
  returning id into v_id;
  return v_id;
end
$$;
