-- By how much the next starts of a provider are put off because calls came late to theirs. Part of sync_provider_v1.
--   late  [{"of": the start in milliseconds since 1970, "ms": how much later than the pace allows for}, …]
--   next  the next start that is given out;  gap: between two starts
-- Calls that were given their starts together and come late together are put right by one put-off. What was put off
-- since a start was given out is the distance from it to the next one, modulo the gap. That is never more than was put
-- off, so that never too little is put off now.
create or replace function fairmill.put_off_starts(late jsonb, next timestamptz, gap interval)
returns interval
language sql immutable
as $$
  select coalesce(greatest(0, max(l.ms - case
      -- Rounded times: a hair below a multiple is the multiple.
      when d.ms < 0 or d.ms - floor(d.ms / g.ms) * g.ms > g.ms - 1 then 0
      else d.ms - floor(d.ms / g.ms) * g.ms end)), 0) * interval '1 millisecond'
  from jsonb_to_recordset(late) as l (of float8, ms float8)
  cross join lateral (select extract(epoch from next)::float8 * 1000 - l.of as ms) d
  cross join lateral (select extract(epoch from gap)::float8 * 1000 as ms) g
$$;
