-- The providers of a kind, as why_v1 reports them: one check for all of them; none where the kind needs no provider.
create or replace function fairmill.why_providers(kind text, at timestamptz)
returns table (check_name text, passed boolean, reason text, detail jsonb)
language plpgsql stable
set timezone = 'UTC'
as $$
#variable_conflict use_column
declare
  v_closed record;
  v_names  text[];
  v_iso    constant text := 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
begin
  select array_agg(distinct name.value) into v_names
  from fairmill.provider_need n
  cross join lateral jsonb_array_elements(n.chains) chain
  cross join lateral jsonb_array_elements_text(chain.value) name
  where n.kind = why_providers.kind;
  if v_names is null then
    return;
  end if;
  select * into v_closed from fairmill.closed_kinds(array[why_providers.kind], at);
  return query
    select 'provider', not found_closed.is_closed,
      case when not found_closed.is_closed
          then 'The providers that it needs take calls: ' || array_to_string(v_names, ', ') || '.'
        when v_closed.is_crowded
          then 'More calls wait for the provider ' || array_to_string(v_closed.providers, ', ')
            || ' than it takes in a second: the kind goes on when there are fewer.'
        else (
          select string_agg('The provider ' || p.name || ' is closed'
            || case when p.breaker <> 'closed' and p.closed_until <= at then ' until a call has shown that it is back'
              when p.closed_until = 'infinity' then ' until it is opened'
              when p.breaker = 'half-open' then ' while a call finds out whether it is back, until '
                || to_char(p.closed_until, v_iso) || ' at the latest'
              else ' until ' || to_char(p.closed_until, v_iso) end
            || case p.closed_why when 'breaker' then ' (too many calls failed)'
              when 'rate-limit' then ' (it said that it takes no more)'
              else ' (by hand' || coalesce(': ' || p.closed_note, '') || ')' end || '.', ' ' order by p.name)
          from fairmill.provider p
          where p.name = any (v_closed.providers) and p.closed_until is not null) end,
      jsonb_build_object('providers', (
        select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('name', p.name, 'breaker', p.breaker, 'why', p.closed_why,
          'closed_until', nullif(p.closed_until, 'infinity'))) order by p.name)
        from fairmill.provider p
        where p.name = any (v_names)))
    from (select v_closed.kind is not null as is_closed) found_closed;
end
$$;
