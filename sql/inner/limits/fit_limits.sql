-- Of the candidates of a claim, those that fit under the limits they share, in the order in which they came. Part of
-- claim_limited.
--   ctids  the candidates, locked;  limits: as room_of_limits said
-- One limit after the other, so that a job which one of them holds back takes no room of the next: whoever is held back
-- is held back by a limit that is full.
create or replace function fairmill.fit_limits(ctids tid[], limits jsonb)
returns tid[]
language plpgsql
as $$
#variable_conflict use_column
begin
  return (
    with candidate as (
      select p.tid, p.n, j.queue, j.kind, j.tenant
      from unnest(ctids) with ordinality as p (tid, n)
      cross join lateral (select x.queue, x.kind, x.tenant from fairmill.job x where x.ctid = p.tid) j),
    by_tenant as (
      select c.* from (select x.*, row_number() over (partition by x.tenant order by x.n) as turn from candidate x) c
      where c.turn <= coalesce((limits #> array['tenant ' || c.tenant, 'room'])::integer, c.turn)),
    by_kind as (
      select c.* from (select x.tid, x.n, x.queue, x.kind, row_number() over (partition by x.kind order by x.n) as turn
        from by_tenant x) c
      where c.turn <= coalesce((limits #> array['kind ' || c.kind, 'room'])::integer, c.turn)),
    by_queue as (
      select c.* from (select x.tid, x.n, x.queue, row_number() over (partition by x.queue order by x.n) as turn
        from by_kind x) c
      where c.turn <= coalesce((limits #> array['queue ' || c.queue, 'room'])::integer, c.turn))
    select coalesce(array_agg(f.tid order by f.n), '{}') from by_queue f);
end
$$;
