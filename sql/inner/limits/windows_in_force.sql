-- The windows of a named limit as they are in force; null: no limit has this name.
-- Plan expected: one probe of named_limit_order.
create or replace function fairmill.windows_in_force(name text)
returns jsonb
language plpgsql stable
as $$
#variable_conflict use_variable
begin
  return (select l.windows from fairmill.named_limit l where l.name = windows_in_force.name
    order by l.reported_at desc, l.id desc limit 1);
end
$$;
