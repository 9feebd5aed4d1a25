-- The figures of kinds or tenants by name, with what is known of their waits: {name: {…, "waits", "wait_ms"}}.
create or replace function fairmill.with_waits(figures jsonb, waits jsonb)
returns jsonb
language sql immutable
as $$
  select coalesce(jsonb_object_agg(n.name, coalesce(figures -> n.name, '{}') || coalesce(waits -> n.name, '{}')), '{}')
  from (select jsonb_object_keys(figures) union select jsonb_object_keys(waits)) as n (name)
$$;
