-- Why does this node of a flow not start? A row per check, as why_v1.
--   state       that it waits, has started, or is over
--   dependency  only while it waits: the nodes before it that are not over, or the node around it that has not started
--   members     once it has started: how many of its jobs have not ended, and the first of them: ask why_v1
-- Result: as why_v1; no row: there is no such node.
-- Locks: none. Plan expected: the primary key of batch, ranges of batch_edge_after and job_batch; counts stop at 1,000.
create or replace function fairmill.why_node_v1(node_id bigint)
returns table (check_name text, passed boolean, reason text, detail jsonb)
language plpgsql stable
set timezone = 'UTC'
as $$
#variable_conflict use_column
declare
  v_node   fairmill.batch;
  v_around fairmill.batch;
  v_before jsonb;
  v_names  text;
  v_live   bigint;
  v_first  bigint;
  v_iso    constant text := 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
begin
  select * into v_node from fairmill.batch b where b.id = node_id and b.role = 'node';
  if not found then
    return;
  end if;
  return query select 'state', v_node.ended_at is null or v_node.state = 'succeeded',
    case when v_node.ended_at is not null
        then 'The node is over: it is ' || v_node.state || ' since ' || to_char(v_node.ended_at, v_iso) || '.'
      when v_node.state = 'waiting' then 'The node waits: it has not started.'
      else 'The node has started at ' || to_char(v_node.started_at, v_iso) || '.' end,
    jsonb_strip_nulls(jsonb_build_object('state', v_node.state, 'name', v_node.name,
      'started_at', v_node.started_at, 'ended_at', v_node.ended_at));
  if v_node.ended_at is not null then
    return;
  end if;

  if v_node.state = 'waiting' then
    select jsonb_agg(jsonb_build_object('id', x.id::text, 'name', x.name, 'state', x.state) order by x.id),
      string_agg('"' || coalesce(x.name, x.id::text) || '" (' || x.state || ')', ', ' order by x.id)
      into v_before, v_names
    from (
      select b.id, b.name, b.state from fairmill.batch_edge e
      cross join lateral (select y.* from fairmill.batch y where y.id = e.before offset 0) b
      where e.after = v_node.id and b.ended_at is null
      order by b.id limit 10) x;
    select * into v_around from fairmill.batch b where b.id = v_node.parent and b.state = 'waiting';
    return query select 'dependency', false,
      case when v_before is not null
          then 'It waits for ' || v_node.waits || case when v_node.waits = 1 then ' node' else ' nodes' end
            || ' before it: ' || v_names || case when v_node.waits > 10 then ', …' else '' end || '.'
        when v_around.id is not null
          then 'It waits for the node around it, "' || coalesce(v_around.name, v_around.id::text)
            || '", which has not started.'
        else 'Nothing is before it: it starts with the transaction that is under way.' end,
      jsonb_strip_nulls(jsonb_build_object('waits', v_node.waits, 'before', v_before,
        'around', case when v_around.id is not null
          then jsonb_build_object('id', v_around.id::text, 'name', v_around.name, 'state', v_around.state) end));
    return;
  end if;

  select count(*), min(j.id) into v_live, v_first
  from (select x.id from fairmill.job x where x.batch = v_node.id order by x.id limit 1000) j;
  return query select 'members', true,
    case when v_live = 0 then 'None of its jobs is live: it is over when what is inside it is.'
      else v_live || case when v_live >= 1000 then ' or more' else '' end
        || case when v_live = 1 then ' of its jobs has' else ' of its jobs have' end
        || ' not ended, job ' || v_first || case when v_live = 1 then '.' else ' first.' end end,
    jsonb_strip_nulls(jsonb_build_object('live', v_live, 'first', v_first::text));
end
$$;
