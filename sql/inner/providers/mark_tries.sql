-- A claim has taken the one job that may find out whether a provider is back: for two seconds no claim takes another.
-- By then the job has made its call, which is the probe, or another job may try. Part of claim_limited.
--   limits  the result of add_closed_kinds;  used: "kind sticker" → how many were started, or null
-- Locks: 28 provider (those that are free).
create or replace function fairmill.mark_tries(limits jsonb, used jsonb, at timestamptz)
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  update fairmill.provider p set try_until = at + interval '2 seconds'
  where p.ctid = any (array(
    select x.ctid from fairmill.provider x
    where x.name in (
      select t.name from jsonb_each(limits) as g (name, facts)
      cross join lateral jsonb_array_elements_text(g.facts -> 'tries') as t (name)
      where g.facts ? 'tries' and used ? g.name)
    for update skip locked));
end
$$;
