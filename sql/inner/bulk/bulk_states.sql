-- The states of the jobs on which an action acts; null: there is no such action.
create or replace function fairmill.bulk_states(action text)
returns text[]
language sql immutable
as $$
  select case action
    when 'cancel' then '{scheduled,ready,blocked,running}'
    when 'retry' then '{scheduled,dead,cancelled}'
    when 'redrive' then '{dead,cancelled}'
    when 'rerun' then '{done,dead,cancelled}' end::text[]
$$;
