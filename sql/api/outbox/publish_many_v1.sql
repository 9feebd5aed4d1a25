-- Stores messages for receivers outside of the database, each with the job that delivers it, in the transaction of the
-- caller.
--   messages  array of objects: channel, idempotency_key (both needed), payload, tenant, order_key, reference (told
--             with its end: see define_channels_v1), and what concerns the delivery job: queue (default "outbox"),
--             priority, max_attempts, key, run_at, delay_ms, expire_ms, trace
--   shared    fields that every message of the array has unless it names its own
--   wake      wake sleeping workers
-- Result: one row per message in the order given: its id in the outbox, and whether this call stored it; false: the key
-- was known for this tenant and channel, nothing is stored, and the id is the first message's. refused: a limit at
-- enqueue did not let its job in; then none of them is stored, and every id is null.
-- A message with an order_key has no job yet: upkeep gives it one when its turn has come, at once if no message is
-- before it. So no transaction of a caller holds a lock that a settle needs. Limits at enqueue do not count for it.
-- Locks: 12 message key, then as store_jobs. A second caller with the same key waits for the first one's commit.
-- Plan expected: inserts from the array; a probe of outbox_key per message.
create or replace function fairmill.publish_many_v1(messages jsonb, shared jsonb default '{}',
  wake boolean default true)
returns table (id bigint, created boolean, refused jsonb)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_messages jsonb;      -- with what they share
  v_new      bigint[];   -- the id that each message would get
  v_ids      bigint[];   -- the id that it has
  v_rows     bigint[];   -- of those that this call stores and that need a job now
  v_jobs     jsonb;
  v_job_ids  bigint[];
  v_refusals jsonb[];
begin
  if jsonb_typeof(messages) is distinct from 'array' or jsonb_typeof(shared) is distinct from 'object' then
    raise exception 'messages must be a JSON array, and what they share an object' using errcode = 'FM001',
      hint = 'Pass [{"channel": "…", "idempotency_key": "…", "payload": {…}}, …].';
  end if;
  select jsonb_agg(shared || m.message order by m.n), array_agg(nextval('fairmill.outbox_id_seq') order by m.n)
    into v_messages, v_new
  from jsonb_array_elements(messages) with ordinality as m (message, n);
  if v_messages is null then
    return;
  end if;
  if exists (
    select from jsonb_array_elements(v_messages) as m (message)
    where m.message ->> 'channel' is null or m.message ->> 'idempotency_key' is null) then
    raise exception 'a message needs a channel and an idempotency_key' using errcode = 'FM001',
      hint = 'The key is what keeps the message from being sent twice: derive it from what caused it.';
  end if;

  -- Once, or twice: a key in use may be removed by retention before its owner is looked up, and then it is free.
  loop
    insert into fairmill.outbox (id, tenant, channel, idempotency_key, payload, order_key, reference, waiting,
      recheck)
    overriding system value
    select v_new[given.n], given.tenant, given.channel, given.key, given.payload, given.order_key,
      given.message ->> 'reference',
      case when given.order_key is not null then fairmill.delivery_job(given.message) end,
      given.order_key is not null
    from (
      select m.n, m.message, coalesce(m.message ->> 'tenant', 'default') collate "C" as tenant,
        (m.message ->> 'channel') collate "C" as channel, (m.message ->> 'idempotency_key') collate "C" as key,
        coalesce(m.message -> 'payload', '{}') as payload, m.message ->> 'order_key' as order_key
      from jsonb_array_elements(v_messages) with ordinality as m (message, n)
      order by 3, 4, 5, 1) given
    on conflict (tenant, channel, idempotency_key) do nothing;
    -- A new statement has a new snapshot, so whatever stood in the way is visible here.
    select array_agg(known.id order by m.n) into v_ids
    from jsonb_array_elements(v_messages) with ordinality as m (message, n)
    left join lateral (
      select o.id from fairmill.outbox o
      where o.tenant = coalesce(m.message ->> 'tenant', 'default') and o.channel = m.message ->> 'channel'
        and o.idempotency_key = m.message ->> 'idempotency_key') known on true;
    exit when array_position(v_ids, null) is null;
  end loop;

  select array_agg(v_new[m.n] order by m.n),
    jsonb_agg(fairmill.delivery_job(m.message) || jsonb_build_object('outbox', v_new[m.n]) order by m.n)
    into v_rows, v_jobs
  from jsonb_array_elements(v_messages) with ordinality as m (message, n)
  where v_new[m.n] = v_ids[m.n] and m.message ->> 'order_key' is null;
  if v_rows is not null then
    select array_agg(j.id), array_agg(j.refusal) into v_job_ids, v_refusals
    from unnest(fairmill.store_jobs(fairmill.parse_jobs(v_jobs, '{}'), publish_many_v1.wake, false, 'none')) as j;
    if v_job_ids[1] is null then
      delete from fairmill.outbox o where o.id = any (v_new);
      return query
        select null::bigint, false, coalesce(v_refusals[array_position(v_rows, v_new[n])], '{}')
        from generate_subscripts(v_new, 1) as n order by n;
      return;
    end if;
    update fairmill.outbox o set job_id = made.job_id
    from unnest(v_rows, v_job_ids) as made (id, job_id)
    where o.id = made.id;
  end if;
  -- One by one: where few wait, the planner would rather walk along all of them.
  if exists (
    select from unnest(v_new) as n (id)
    cross join lateral (select o.waiting from fairmill.outbox o where o.id = n.id offset 0) o
    where o.waiting is not null) then
    -- To workers that are awake, too: upkeep finds these messages after the commit.
    perform pg_notify('fairmill', '!due 0')
    where exists (select from fairmill.worker w where w.state = 'alive' and w.lease_until > now());
  end if;
  return query select v_ids[n], v_ids[n] = v_new[n], null::jsonb from generate_subscripts(v_ids, 1) as n order by n;
end
$$;
