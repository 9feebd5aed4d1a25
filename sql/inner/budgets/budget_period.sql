-- The day or month of a budget in which a time lies, by the calendar of its time zone.
create or replace function fairmill.budget_period(per text, time_zone text, at timestamptz,
  out period_from timestamptz, out period_until timestamptz)
language sql stable
as $$
  select (date_trunc(per, at at time zone time_zone)) at time zone time_zone,
    (date_trunc(per, at at time zone time_zone) + ('1 ' || per)::interval) at time zone time_zone
$$;
