-- Opens again messages that were given up, because their jobs are revived. Only those that were certainly not
-- delivered, failed or skipped: nothing that may have arrived is ever sent again by putting a job back. One in order
-- stays as it is while another of its key is under way.
--   rows  job.outbox of the ended jobs
-- Result: those that are pending again. The caller has locked the ended jobs.
-- Locks: 10 message.
-- Plan expected: a probe of the primary key of outbox per row, and one of outbox_head per row in order.
create or replace function fairmill.reopen_messages(rows bigint[])
returns bigint[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_row   record;
  v_again bigint[] := '{}';
begin
  for v_row in
    select o.id, o.tenant, o.channel, o.order_key from fairmill.outbox o
    where o.id = any (rows) and o.status in ('failed', 'skipped')
    order by o.id for update
  loop
    continue when exists (
      select from fairmill.outbox o
      where o.tenant = v_row.tenant and o.channel = v_row.channel and o.order_key = v_row.order_key
        and o.order_key is not null and o.ended_at is null and o.waiting is null);
    begin
      update fairmill.outbox o set status = 'pending', ended_at = null where o.id = v_row.id;
      v_again := v_again || v_row.id;
    exception when unique_violation then
      -- Another session has just begun another message of its key.
      null;
    end;
  end loop;
  return v_again;
end
$$;
