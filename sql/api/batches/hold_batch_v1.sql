-- Holds a batch open for a while, so that a caller that is not a member can add to it. An existing hold is prolonged.
-- Result: the hold, or null: the batch is over, or there is none.
-- Locks: 13 batch.
create or replace function fairmill.hold_batch_v1(batch_id bigint, hold_ms float8, hold_id bigint default null)
returns bigint
language plpgsql
as $$
#variable_conflict use_column
declare
  v_until timestamptz := clock_timestamp() + hold_ms * interval '1 millisecond';
  v_hold  bigint;
begin
  perform from fairmill.batch b where b.id = batch_id and b.state = 'pending' for key share;
  if not found then
    return null;
  end if;
  if hold_id is null then
    insert into fairmill.batch_hold (batch, until) values (batch_id, v_until) returning id into v_hold;
  else
    update fairmill.batch_hold h set until = v_until where h.id = hold_id and h.batch = batch_id
    returning h.id into v_hold;
  end if;
  return v_hold;
end
$$;
