-- Whether a partition of the history that is older than the general age may be dropped: no rule keeps a job of it any
-- longer, or its last walk found none. Without rules: always.
-- Locks: none.
create or replace function fairmill.is_day_over(part text, until timestamptz)
returns boolean
language plpgsql stable
as $$
#variable_conflict use_column
begin
  return not exists (
      select from fairmill.retention_rule r
      where coalesce(is_day_over.until + r.keep_ms * interval '1 millisecond' > now(), true))
    or exists (select from fairmill.retention_walk w where w.part = is_day_over.part and w.is_last and w.remaining = 0);
end
$$;
