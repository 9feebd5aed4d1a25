-- Refuses a rate that names something unknown, or lacks its limit or its period. What the values may be is for the
-- tables to say.
create or replace function fairmill.check_rate(rate jsonb)
returns void
language plpgsql
as $$
declare
  v_unknown text;
begin
  if rate is null then
    return;
  end if;
  select k into v_unknown from jsonb_object_keys(rate) k where k not in ('limit', 'per_ms', 'how', 'at') limit 1;
  if v_unknown is not null then
    raise exception 'unknown setting "%" of a rate', v_unknown using errcode = 'FM001',
      hint = 'Known: limit, per_ms, how, at.';
  end if;
  if rate ->> 'limit' is null or rate ->> 'per_ms' is null then
    raise exception 'a rate needs limit and per_ms' using errcode = 'FM001',
      hint = 'For example {"limit": 5, "per_ms": 60000}.';
  end if;
end
$$;
