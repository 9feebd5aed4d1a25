-- Refuses a rate that names something unknown, or lacks its limit or its period. What the values may be is for the
-- tables to say.
create or replace function fairmill.check_rate(rate jsonb)
returns void
language plpgsql
as $$
begin
  if rate is null then
    return;
  end if;
  perform fairmill.check_fields(rate, '{limit,per_ms,how,at}', 'rate');
  if rate ->> 'limit' is null or rate ->> 'per_ms' is null then
    raise exception 'a rate needs limit and per_ms' using errcode = 'FM001',
      hint = 'For example {"limit": 5, "per_ms": 60000}.';
  end if;
end
$$;
