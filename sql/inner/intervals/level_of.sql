-- The level of a figure. 0: good, below the first threshold; 1: a warning, up to the second; 2: critical, above it;
-- null: the figure is not known.
create or replace function fairmill.level_of(figure numeric, thresholds jsonb)
returns integer
language sql immutable
as $$
  select case when figure is null then null
    when figure > (thresholds -> 1)::numeric then 2
    when figure >= (thresholds -> 0)::numeric then 1 else 0 end
$$;
