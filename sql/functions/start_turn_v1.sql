-- Makes the delivery job of a message whose turn has come. The caller has locked the row.
-- Its time to live counts from the publish, or from the moment for which it was meant: a message that waited too long for its turn is late.
create or replace function fairmill.start_turn_v1(message_id bigint)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_row  fairmill.outbox;
  v_rule fairmill.rule_in_force;
  v_made record;
begin
  select * into v_row from fairmill.outbox o where o.id = message_id;
  select * into v_rule from fairmill.rule_in_force r where r.kind = v_row.waiting ->> 'kind';
  insert into fairmill.job (kind, payload, tenant, queue, priority, max_attempts, key, outbox, run_at, expire_at, limit_key, state, aside)
  select said.kind, '{}', v_row.tenant, said.queue, coalesce((v_row.waiting ->> 'priority')::smallint, 0::smallint),
    coalesce((v_row.waiting ->> 'max_attempts')::smallint, 3::smallint), said.key, v_row.id, coalesce(said.run_at, now()),
    coalesce(said.run_at, v_row.created_at) + (v_row.waiting ->> 'expire_ms')::float8 * interval '1 millisecond', said.limit_key,
    case when said.must_wait then 'scheduled' else 'ready' end, case when said.must_wait then 'scheduled' end
  from (select x.*, coalesce(x.run_at > now() or x.limit_key is not null and v_rule.max_running is not null, false) as must_wait
    from (select v_row.waiting ->> 'kind' as kind, v_row.waiting ->> 'queue' as queue, v_row.waiting ->> 'key' as key,
          (v_row.waiting ->> 'run_at')::timestamptz as run_at,
          -- As gates_at_enqueue_v1 makes it.
          case v_rule.per when 'kind' then jsonb_build_array(v_row.waiting ->> 'kind')::text
            when 'tenant' then jsonb_build_array(v_row.waiting ->> 'kind', v_row.tenant)::text
            when 'key' then case when v_row.waiting ? 'key' then jsonb_build_array(v_row.waiting ->> 'kind', v_row.tenant, v_row.waiting ->> 'key')::text end
            end as limit_key) x) said
  returning id, state, queue, extract(epoch from run_at - now()) * 1000 as due_in_ms into v_made;
  update fairmill.outbox o set job_id = v_made.id, waiting = null, recheck = false where o.id = message_id;
  perform fairmill.wake_v1(case when v_made.state = 'ready' then array[v_made.queue] end, case when v_made.state = 'scheduled' then v_made.due_in_ms end);
end
$$;
