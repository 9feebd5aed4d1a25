// Payloads and results in a storage, for the test of plans: the calls whose plans are looked at.
import type { Call } from "./plan-call.js";

/** A hundred files of jobs that are there, and as many of jobs that are gone. */
const CONTENTS = `insert into fairmill.content (storage, key, job_id, check_at)
  select 's', 'k' || id, id, now() - interval '1 hour' from (select id from fairmill.job order by id limit 100) there
  union all select 's', 'g' || n, 1000000000 + n, now() - interval '1 hour' from generate_series(1, 100) n`;

export const OFFLOAD_CALLS: Record<string, Call> = {
  check_contents_v1: {
    statement: "select * from fairmill.check_contents_v1('s')",
    before: CONTENTS,
    ways: ["job_pkey"],
    historyWays: "primary keys",
  },
  forget_contents_v1: {
    statement: "select fairmill.forget_contents_v1('s', '{g1,g2}', '{1000000001,1000000002}')",
    before: `${CONTENTS}; update fairmill.content set gone_at = now() where key like 'g%'`,
    ways: [],
  },
  unknown_contents_v1: {
    statement: "select fairmill.unknown_contents_v1('s', '{g1,g2,other}')",
    before: CONTENTS,
    ways: [],
  },
};
