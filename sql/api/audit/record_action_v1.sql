-- Records that a person is about to do something. Result: the id of the record, for conclude_action_v1.
--   via  http | cli | library;  detail: an object of at most 16 KB
-- Locks: none.
create or replace function fairmill.record_action_v1(actor text, via text, action text, subject text,
  tenant text default null, role text default null, detail jsonb default '{}')
returns bigint
language plpgsql
as $$
#variable_conflict use_column
declare
  v_id bigint;
begin
  insert into fairmill.audit_event (actor, via, action, subject, tenant, role, detail)
  values (actor, via, action, subject, tenant, role, detail)
  returning id into v_id;
  return v_id;
end
$$;
