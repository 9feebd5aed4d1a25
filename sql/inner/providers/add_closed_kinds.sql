-- Adds to the limits of a claim those kinds whose providers are closed or crowded. Part of claim_limited.
--   limits  the result of room_of_limits;  kinds: of the claim, null: any
-- Result: the same, in which such kinds have room 0, or 1 where one job may find out whether a provider is back
--   (tries: which), why "provider", and open_in_ms.
create or replace function fairmill.add_closed_kinds(limits jsonb, kinds text[], at timestamptz)
returns jsonb
language plpgsql stable
as $$
#variable_conflict use_column
begin
  return limits || coalesce((
    select jsonb_object_agg('kind ' || c.kind, coalesce(limits -> ('kind ' || c.kind), '{}')
      || jsonb_strip_nulls(jsonb_build_object('scope', 'kind', 'name', c.kind,
        'room', least(c.room, (limits #> array['kind ' || c.kind, 'room'])::integer),
        'why', coalesce(limits #>> array['kind ' || c.kind, 'why'], 'provider'),
        'tries', case when c.room > 0 then to_jsonb(c.tries) end,
        'open_in_ms', case when c.open_at < 'infinity'
          then greatest(0, extract(epoch from c.open_at - at)::float8 * 1000) end)))
    from fairmill.closed_kinds(kinds, at) c), '{}');
end
$$;
