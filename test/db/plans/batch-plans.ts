// Batches and flows for the test of plans: what is in the tables, and the calls whose plans are looked at.

/**
 * 5,000 batches with three members each, of which 50 are to be looked at; 100 without members, half of them held open; 5,000 that are over, and
 * 100 that were over long ago with one inside each. Flow 20000 has a node that runs and 150 behind it, 30000 one that failed and 150 that
 * were skipped for it; a hundred others have twenty nodes in a row.
 */
export const FILL_BATCHES = `
  insert into fairmill.batch (id, root, state, tenant, callbacks, started_at, check_at) overriding system value
  select n, n, 'pending', 'default', '{"complete": {"kind": "work", "queue": "batched", "delay_ms": 864000000}}', now(),
    case when n <= 50 then now() - interval '1 minute' when n <= 1000 then now() + n * interval '1 day' end
  from generate_series(1, 5100) n;
  insert into fairmill.job (kind, queue, tenant, state, aside, payload, run_at, batch)
  select 'member', 'batched', 'default', 'scheduled', 'scheduled', '{}', now() + interval '10 days', n from generate_series(1, 5000) n, generate_series(1, 3);
  insert into fairmill.batch_hold (batch, until) select n, now() + interval '1 day' from generate_series(5051, 5100) n;
  insert into fairmill.batch (id, root, parent, state, tenant, started_at, ended_at) overriding system value
  select n, case when n > 16000 then n - 1000 else n end, case when n > 16000 then n - 1000 end, 'succeeded', 'default', now(),
    now() - case when n > 15000 then interval '40 days' else interval '1 day' end
  from generate_series(10001, 16100) n where n not between 15101 and 16000;
  insert into fairmill.batch (id, root, parent, role, state, tenant, name, start_when, on_failure, jobs, waits, unmet, fails, started_at, ended_at, failed)
  overriding system value
  select f.id + n, f.id, case when n > 0 then f.id end, case when n > 0 then 'node' else 'flow' end,
    case when n = 0 then f.state when n = 1 then f.first else f.rest end, 'default', 'n' || n, case when n > 0 then 'succeeded' end, case when n > 0 then 'fail' end,
    case when n > 0 then '[{"kind": "work", "queue": "batched", "delay_ms": 864000000}]'::jsonb end, case when n > 1 and f.ended is null then 1 else 0 end, 0, 0,
    now(), f.ended, case when n = 0 and f.state = 'failed' then 1 else 0 end
  from (values (20000, 151, 'pending', 'pending', 'waiting', null::timestamptz), (30000, 151, 'failed', 'failed', 'skipped', now())) f (id, nodes, state, first, rest, ended)
  cross join lateral generate_series(0, f.nodes) n;
  insert into fairmill.job (kind, queue, tenant, state, aside, payload, run_at, batch)
  select 'member', 'batched', 'default', 'scheduled', 'scheduled', '{}', now() + interval '10 days', 20001 from generate_series(1, 100);
  insert into fairmill.batch_edge (before, after)
  select 20001, 20000 + n from generate_series(2, 151) n union all select 30001, 30000 + n from generate_series(2, 151) n;
  insert into fairmill.batch (id, root, parent, role, state, tenant, start_when, on_failure, waits, started_at, ended_at) overriding system value
  select f + n, f, case when n > 0 then f end, case when n > 0 then 'node' else 'flow' end, 'succeeded', 'default',
    case when n > 0 then 'succeeded' end, case when n > 0 then 'fail' end, 0, now(), now()
  from generate_series(40000, 49900, 100) f, generate_series(0, 20) n;
  insert into fairmill.batch_edge (before, after) select f + n, f + n + 1 from generate_series(40000, 49900, 100) f, generate_series(1, 19) n;
  select setval('fairmill.batch_id_seq', 100000)`;

/** The first column of each index: see the test. */
export const BATCH_BOUNDS: Record<string, RegExp> = {
  batch_pkey: /\bid =/,
  batch_inside: /\bparent =/,
  batch_to_check: /\bcheck_at <=/,
  batch_over: /\bended_at </,
  batch_tree: /\broot =/,
  batch_edge_pkey: /\bbefore =/,
  batch_edge_after: /\bafter =/,
  batch_hold_pkey: /\bid =/,
  batch_hold_batch: /\bbatch =/,
  job_batch: /\bbatch =/,
};

const ids = (from: number, to: number) => `array(select n::bigint from generate_series(${from}, ${to}) n)`;
const members = (from: number, to: number, state: string) =>
  `(select jsonb_agg(jsonb_build_array(n, '${state}', now())) from generate_series(${from}, ${to}) n)`;

interface BatchCall {
  readonly statement: string;
  readonly before?: string;
  /** Ways into `job`, and into the three tables of batches: all of them, and no other. */
  readonly ways: readonly string[];
  readonly batchWays: readonly string[];
}

export const BATCH_CALLS: Record<string, BatchCall> = {
  "join_batches of an enqueue": {
    statement:
      "select * from fairmill.enqueue_many_v1((select jsonb_agg(jsonb_build_object('kind', 'work', 'batch', n)) from generate_series(1, 50) n))",
    ways: [],
    batchWays: ["batch_pkey"],
  },
  open_batches: {
    statement: `select fairmill.open_batches(${ids(1, 50)})`,
    ways: [],
    batchWays: ["batch_pkey"],
  },
  lock_trees: {
    statement: `select fairmill.lock_trees(${ids(16001, 16050)})`,
    ways: [],
    batchWays: ["batch_pkey"],
  },
  idle_batches: {
    statement: `select fairmill.idle_batches(${ids(4951, 5100)})`,
    ways: ["job_batch backward"],
    batchWays: ["batch_inside backward", "batch_pkey", "batch_hold_batch"],
  },
  advance_batches: {
    statement: `select fairmill.advance_batches(${ids(5001, 5050)})`,
    ways: ["job_batch backward"],
    batchWays: ["batch_inside backward", "batch_pkey", "batch_edge_pkey", "batch_hold_batch"],
  },
  "enqueue_callbacks of batches in which a member died": {
    statement: `select fairmill.enqueue_callbacks('{}', ${ids(5001, 5050)})`,
    ways: [],
    batchWays: ["batch_pkey"],
  },
  enqueue_callbacks: {
    statement: `select fairmill.enqueue_callbacks(${ids(5001, 5050)}, '{}')`,
    ways: [],
    batchWays: ["batch_pkey"],
  },
  "count_members of members that are not the last, and of the last": {
    statement: `select fairmill.advance_batches(c.batches, c.died) from fairmill.count_members(${members(4951, 5050, "dead")}) c`,
    ways: ["job_batch backward"],
    batchWays: ["batch_inside backward", "batch_pkey", "batch_edge_pkey", "batch_hold_batch"],
  },
  "check_batches with fifty that are due": {
    statement: "select fairmill.check_batches(200)",
    ways: ["job_batch backward"],
    batchWays: ["batch_inside backward", "batch_pkey", "batch_to_check"],
  },
  "cancel_batch_v1 of a flow": {
    statement: "select fairmill.cancel_batch_v1(20000)",
    ways: ["job_batch backward"],
    batchWays: ["batch_inside", "batch_inside backward", "batch_pkey", "batch_pkey backward", "batch_hold_batch"],
  },
  "cancel_members_v1 of a flow": {
    statement: "select * from fairmill.cancel_members_v1(20000, 50)",
    ways: ["job_batch", "job_batch backward", "job_pkey"],
    batchWays: ["batch_inside", "batch_inside backward", "batch_pkey"],
  },
  tree_accounts: {
    statement: "select fairmill.tree_accounts(array[20001::bigint])",
    ways: [],
    batchWays: ["batch_inside", "batch_pkey"],
  },
  batches_within_v1: {
    statement: "select fairmill.batches_within_v1(array[20000::bigint])",
    ways: [],
    batchWays: ["batch_inside", "batch_pkey"],
  },
  "notify_dependents of one that failed": {
    statement: "select fairmill.notify_dependents(array[20001::bigint])",
    before: "update fairmill.batch set state = 'failed', ended_at = now() where id = 20001",
    ways: [],
    batchWays: ["batch_inside", "batch_pkey", "batch_edge_pkey"],
  },
  start_nodes: {
    statement: `select * from fairmill.start_nodes(${ids(20002, 20051)})`,
    before: "update fairmill.batch set waits = 0 where id between 20002 and 20051",
    ways: [],
    batchWays: ["batch_inside", "batch_pkey"],
  },
  reopen_tree: {
    statement: "select fairmill.reopen_tree(array[30001::bigint])",
    ways: [],
    batchWays: ["batch_inside", "batch_pkey", "batch_edge_after", "batch_edge_pkey"],
  },
  reset_nodes: {
    statement: `select fairmill.reset_nodes(${ids(30002, 30151)})`,
    ways: [],
    batchWays: ["batch_pkey", "batch_edge_after"],
  },
  reopen_batches: {
    statement: `select fairmill.reopen_batches('[[30001, "dead"]]')`,
    ways: [],
    batchWays: ["batch_inside", "batch_pkey", "batch_edge_after", "batch_edge_pkey"],
  },
  retry_flow_v1: {
    statement: "select * from fairmill.retry_flow_v1(30000)",
    ways: ["job_batch backward"],
    batchWays: ["batch_inside", "batch_inside backward", "batch_pkey", "batch_edge_after", "batch_edge_pkey"],
  },
  open_batch_v1: {
    statement: `select * from fairmill.open_batch_v1('{"parent": 1, "hold_ms": 1000}', '[{"kind": "work", "queue": "batched", "delay_ms": 864000000}]')`,
    ways: [],
    batchWays: ["batch_pkey", "batch_hold_pkey"],
  },
  start_flow_v1: {
    statement: `select * from fairmill.start_flow_v1('{"nodes": [{"name": "a"}, {"name": "b", "after": [0]}, {"name": "c", "inside": 1}]}')`,
    ways: ["job_batch"],
    batchWays: ["batch_inside", "batch_pkey"],
  },
  release_batch_v1: {
    statement: "select fairmill.release_batch_v1((select min(id) from fairmill.batch_hold))",
    ways: ["job_batch backward"],
    batchWays: ["batch_inside backward", "batch_pkey", "batch_edge_pkey", "batch_hold_batch", "batch_hold_pkey"],
  },
  forget_batches: {
    statement: "select fairmill.forget_batches(now() - interval '30 days', 50)",
    ways: [],
    batchWays: ["batch_over", "batch_pkey", "batch_tree", "batch_edge_pkey", "batch_hold_batch"],
  },
};
