-- A row of job with this payload and nothing else. JSON null is a payload, but to jsonb_populate_record it is no value:
-- so a row that is made of JSON begins with this one. Part of revive.
create or replace function fairmill.blank_job(payload jsonb)
returns fairmill.job
language plpgsql immutable
as $$
declare
  v_job fairmill.job;
begin
  v_job.payload := payload;
  return v_job;
end
$$;
