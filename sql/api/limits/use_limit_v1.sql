-- Spends units of a named limit from outside of a job: what was used counts at once, as far as there is room; the rest
-- is owed, and delays the next starts.
--   name, key  of the limit;  units: {"tokens": 1730}
-- Locks: as change_units. Claims wait for the end of the transaction.
create or replace function fairmill.use_limit_v1(name text, key text, units jsonb)
returns void
language plpgsql
as $$
#variable_conflict use_variable
begin
  -- What a job may use is what a caller may use; there is no bound but that of a number.
  perform fairmill.check_uses(array[jsonb_populate_record(null::fairmill.new_job, jsonb_build_object(
    'n', 1, 'uses', jsonb_build_array(
      jsonb_build_object('limit', name, 'key', coalesce(key, ''), 'units', units))))]);
  perform fairmill.change_units((
    select jsonb_agg(jsonb_build_object('limit', name, 'key', coalesce(key, ''), 'unit', e.unit, 'delta', e.units))
    from jsonb_each(units) as e (unit, units)));
end
$$;
