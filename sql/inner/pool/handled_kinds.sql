-- The kinds that have a handler somewhere: of living workers, and of pools, whose last child may have ended because
-- there was no work. Null: every kind, because a living worker takes any. Part of backlog_v1.
create or replace function fairmill.handled_kinds()
returns text[]
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_at timestamptz := clock_timestamp();
begin
  if exists (select from fairmill.worker w where w.state = 'alive' and w.lease_until > v_at and w.kinds is null) then
    return null;
  end if;
  return array(
    select kind from fairmill.worker w
    cross join lateral unnest(w.kinds) as k (kind)
    where w.state = 'alive' and w.lease_until > v_at
    union
    select k.kind from fairmill.pool p
    cross join lateral jsonb_array_elements_text(p.settings -> 'kinds') as k (kind)
    where jsonb_typeof(p.settings -> 'kinds') = 'array');
end
$$;
