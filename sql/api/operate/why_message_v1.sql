-- Why is this message of the outbox not sent? A row per check, as why_v1.
--   state  its status
--   order  only where it has an order key and is open: the message of that key that is under way, and how many wait
--          before this one
-- and, where its delivery job is live, the rows of why_v1 about that job, without its state.
-- Result: as why_v1; no row: there is no such message.
-- Locks: none. Plan expected: the primary key of outbox, ranges of outbox_head and outbox_waiting; counts
-- stop at 1,000.
create or replace function fairmill.why_message_v1(message_id bigint)
returns table (check_name text, passed boolean, reason text, detail jsonb)
language plpgsql stable
set timezone = 'UTC'
as $$
#variable_conflict use_column
declare
  v_message fairmill.outbox;
  v_head    fairmill.outbox;   -- of the same order, under way
  v_ahead   bigint;
  v_iso     constant text := 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
begin
  select * into v_message from fairmill.outbox o where o.id = message_id;
  if not found then
    return;
  end if;
  return query select 'state', v_message.ended_at is null or v_message.status = 'sent',
    case when v_message.ended_at is not null
        then 'The message is ' || v_message.status || ' since ' || to_char(v_message.ended_at, v_iso) || '.'
      when v_message.waiting is not null then 'The message is pending, and has no delivery job yet.'
      else 'The message is ' || v_message.status || '; job ' || v_message.job_id || ' delivers it.' end,
    jsonb_strip_nulls(jsonb_build_object('state', v_message.status, 'channel', v_message.channel,
      'job_id', v_message.job_id::text, 'ended_at', v_message.ended_at));
  if v_message.ended_at is not null then
    return;
  end if;

  if v_message.order_key is not null and v_message.waiting is null then
    return query select 'order', true, 'It is the head of its order key "' || v_message.order_key || '".',
      jsonb_build_object('order_key', v_message.order_key, 'ahead', 0);
  elsif v_message.waiting is not null then
    select * into v_head from fairmill.outbox o
    where o.tenant = v_message.tenant and o.channel = v_message.channel and o.order_key = v_message.order_key
      and o.ended_at is null and o.waiting is null
    limit 1;
    select count(*) into v_ahead
    from (
      select from fairmill.outbox o
      where o.tenant = v_message.tenant and o.channel = v_message.channel and o.order_key = v_message.order_key
        and o.waiting is not null and o.id < v_message.id
      limit 1000) a;
    return query select 'order', false,
      case when v_head.id is null then 'No message of its order key "' || v_message.order_key
          || '" is under way: the next upkeep starts the first that waits'
        else 'Message ' || v_head.id || ' of its order key "' || v_message.order_key || '" goes first: it is '
          || v_head.status || ', and job ' || v_head.job_id || ' delivers it' end
      || case when v_ahead = 0 then '; this one is next.'
        else '; ' || v_ahead || case when v_ahead >= 1000 then ' or more' else '' end
          || case when v_ahead = 1 then ' more waits' else ' more wait' end || ' before this one.' end,
      jsonb_strip_nulls(jsonb_build_object('order_key', v_message.order_key, 'ahead', v_ahead,
        'head', v_head.id::text, 'head_job', v_head.job_id::text));
    return;
  end if;
  return query select w.* from fairmill.why_v1(v_message.job_id) w where w.check_name <> 'state' or not w.passed;
end
$$;
