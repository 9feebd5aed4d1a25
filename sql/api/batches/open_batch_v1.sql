-- Makes a batch, with its first members.
--   spec    name, tenant, parent (the batch around it), callbacks {success, complete, death}, hold_ms (held open for
--           this time, or until release_batch_v1), window_ms, max_wait_ms, poll_ms, idempotency_key (among the
--           tenant's batches: a second call with the same key answers with the first one's batch)
--   jobs    as enqueue_many_v1 takes them, or null;  shared, wake, alone: as there
-- Result: the batch, the hold if one was asked for, and how many jobs were stored; null: the key was known, and nothing
-- was stored. refused: why nothing was stored, neither jobs nor batch.
-- A batch that has no members and no hold is over: upkeep ends it.
-- Locks: 13 batch (the one around it, and one of the same key: a second caller waits for the first one's commit), then
-- as enqueue_many_v1.
create or replace function fairmill.open_batch_v1(spec jsonb, jobs jsonb default null, shared jsonb default '{}',
  wake boolean default true, alone boolean default false,
  out id bigint, out hold bigint, out stored integer, out refused jsonb)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_parent bigint := (spec ->> 'parent')::bigint;
  v_root   bigint;
begin
  if jsonb_typeof(spec) is distinct from 'object' then
    raise exception 'spec must be a JSON object' using errcode = 'FM001',
      hint = 'Pass {} for a batch without callbacks.';
  end if;
  perform fairmill.refuse_reserved(jsonb_path_query_array(spec, '$.callbacks.*') || coalesce(jobs, '[]') || shared);
  if v_parent is not null then
    if cardinality(fairmill.open_batches(array[v_parent])) = 0 then
      refused := jsonb_build_object('code', 'FAIRMILL_BATCH_ENDED', 'batch', v_parent::text);
      return;
    end if;
    select b.root into v_root from fairmill.batch b where b.id = v_parent;
  end if;
  stored := 0;
  id := nextval('fairmill.batch_id_seq');
  insert into fairmill.batch (id, root, parent, state, tenant, name, callbacks, window_ms, max_wait_ms, poll_ms,
    idempotency_key, started_at)
  overriding system value
  values (id, coalesce(v_root, id), v_parent, 'pending', coalesce(spec ->> 'tenant', 'default'), spec ->> 'name',
    spec -> 'callbacks', (spec ->> 'window_ms')::integer, (spec ->> 'max_wait_ms')::integer,
    (spec ->> 'poll_ms')::integer, spec ->> 'idempotency_key', clock_timestamp())
  on conflict (tenant, role, idempotency_key) where idempotency_key is not null do nothing;
  if not found then
    select b.id into id from fairmill.batch b
    where b.tenant = coalesce(spec ->> 'tenant', 'default') and b.role = 'batch'
      and b.idempotency_key = spec ->> 'idempotency_key';
    stored := null;
    return;
  end if;
  if jsonb_array_length(jobs) > 0 then
    select count(*) filter (where j.id is not null and j.conflict is null),
      (array_agg(j.refusal) filter (where j.refusal is not null))[1]
      into stored, refused
    from unnest(fairmill.store_jobs(
      fairmill.parse_jobs(jobs, shared || jsonb_build_object('batch', open_batch_v1.id)), wake, alone, 'none')) as j;
    if refused is not null then
      delete from fairmill.batch b where b.id = open_batch_v1.id;
      id := null;
      return;
    end if;
  end if;
  if spec ? 'hold_ms' then
    insert into fairmill.batch_hold (batch, until)
    values (open_batch_v1.id, clock_timestamp() + (spec ->> 'hold_ms')::float8 * interval '1 millisecond')
    returning batch_hold.id into hold;
  end if;
  if hold is not null or stored = 0 then
    update fairmill.batch b
    set check_at = coalesce(
      (select h.until from fairmill.batch_hold h where h.id = open_batch_v1.hold), clock_timestamp())
    where b.id = open_batch_v1.id;
    perform pg_notify('fairmill', '!due 0')
    where hold is null and exists (select from fairmill.worker w where w.state = 'alive' and w.lease_until > now());
  end if;
end
$$;
