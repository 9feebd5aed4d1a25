// The calls of retention and erasing whose plans are looked at: ranges of places, whatever the statistics say.
import type { Call } from "./plan-call.js";

const RULE = "insert into fairmill.retention_rule (state, keep_ms) values ('done', 60000)";

export const RETENTION_CALLS: Record<string, Call> = {
  has_old: { statement: "select fairmill.has_old(now() - interval '30 days')", ways: [], historyWays: "primary keys" },
  keep_of: { statement: "select fairmill.keep_of('t1', 'work', 'done', 1)", before: RULE, ways: [] },
  walk_history: {
    statement: "select fairmill.walk_history('30 days')",
    before: RULE,
    ways: [],
    historyWays: "primary keys",
  },
  remove_ended: {
    statement: "select fairmill.remove_ended('job_history_rest', '{\"(0,1)\"}')",
    ways: [],
    historyWays: "primary keys",
  },
  erase_blocks: {
    statement: `select fairmill.erase_blocks(e, 'job_history_rest', 'x.tenant = $1', null, 0, 1)
      from fairmill.tenant_erasure e where e.tenant = 'nobody'`,
    before: `insert into fairmill.tenant_erasure (tenant, tenant_digest, actor) values ('nobody', '', 'ann')`,
    ways: [],
    historyWays: "primary keys",
  },
  // Of a block of jobs most are other tenants': that is what a walk is.
  tenant_jobs: {
    statement: "select fairmill.tenant_jobs('t1', false, 0, 1)",
    ways: ["Tid Range Scan"],
    walks: [""],
  },
};
