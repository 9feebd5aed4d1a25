-- A rate as people say it: "100 per minute", "5 per 90 seconds", "1 per 250 ms".
-- Parameters: how many, in how many milliseconds.
-- Locks: none. Plan: none.
create or replace function fairmill.rate_words(rate_limit integer, rate_per_ms bigint)
returns text
language sql
immutable
as $$
  select rate_limit || ' per ' || case when rate_per_ms = unit.ms then unit.one
    else rate_per_ms / unit.ms || ' ' || unit.many end
  from (values (86400000, 'day', 'days'), (3600000, 'hour', 'hours'), (60000, 'minute', 'minutes'),
    (1000, 'second', 'seconds'), (1, 'ms', 'ms'))
    as unit (ms, one, many)
  where rate_per_ms % unit.ms = 0
  order by unit.ms desc
  limit 1
$$;
