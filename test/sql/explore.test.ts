import { test } from "vitest";
import { useDatabase } from "../support/database.js";
import { useSessions } from "./sessions.js";
import { draw, explainEverything, plansOf } from "./plan-reader.js";
const db = useDatabase();
const open = useSessions(db);
test("explore", async () => {
  await db.query("alter table fairmill.job set (autovacuum_enabled=off)");
  await db.query("analyze fairmill.job");
  await db.query(`insert into fairmill.job (kind, queue, tenant, state, payload, expire_at) select 'work','default','t'||n%1000,'ready','{}', case when n%20=0 then now()+interval '1 hour' end from generate_series(1,50000) n`);
  await db.query(`insert into fairmill.job (kind, queue, tenant, state, payload, run_at) select 'work','default','t'||n%1000,'scheduled','{}', now() - interval '1 s' + n * interval '1 ms' from generate_series(1,2000) n`);
  for (let w=0; w<10; w++) { await db.query(`select fairmill.register_v1('w${w}','{default}','1 hour')`);
   await db.query(`insert into fairmill.job (kind, queue, tenant, state, payload, worker, started_at, lease_no, attempt) select 'work','default','t'||n,'running','{}','w${w}',now(),1,1 from generate_series(1,200) n`); }
  const session = await open();
  await explainEverything(session);
  const run = await db.query<{id:string}>("select id from fairmill.job where worker='w3' order by id limit 20");
  const ids = run.map(r=>r.id), leases = run.map(()=>1);
  for (const [what, text, values] of [
    ["enqueue", "select * from fairmill.enqueue_many_v1($1)", [JSON.stringify([{kind:"a"},{kind:"b", idempotency_key:"k"}])]],
    ["lanes", "select * from fairmill.lanes_v1('default', null, null, 50)", []],
    ["lanes after", "select * from fairmill.lanes_v1('default', 0::smallint, 't500', 50)", []],
    ["claim", "select * from fairmill.claim_lanes_v1('w1','{default,default}','{0,0}','{t1,t2}','{0,0}','{5,5}','{work}',8)", []],
    ["news", "select * from fairmill.news_v1('{default}', 53000)", []],
    ["settle done", "select * from fairmill.settle_v1('w3',$1,$2,$3)", [ids, leases, ids.map(()=>"done")]],
    ["settle retry", "select * from fairmill.settle_v1('w3',$1,$2,$3)", [ids, leases, ids.map(()=>"retry")]],
    ["settle refused", "select * from fairmill.settle_v1('w9',$1,$2,$3)", [ids, leases, ids.map(()=>"retry")]],
    ["heartbeat", "select * from fairmill.heartbeat_v1('w3')", []],
    ["promote", "select * from fairmill.promote_v1(100)", []],
    ["expire", "select * from fairmill.expire_v1(100)", []],
    ["recover", "select * from fairmill.recover_v1()", []],
    ["tick", "select * from fairmill.tick_upkeep_v1()", []],
    ["progress", "select * from fairmill.progress_v1('w3', $1, $2, '[1]')", [ids, leases]],
    ["release_unknown", "select * from fairmill.release_unknown_v1('w3', $1)", [ids]],
    ["cancel", "select * from fairmill.cancel_v1($1)", [ids[0]]],
    ["cancel none", "select * from fairmill.cancel_v1(99999999)", []],
    ["retry none", "select * from fairmill.retry_v1(99999999)", []],
    ["wake", "select fairmill.wake_v1('{default}', 5)", []],
  ] as [string,string,unknown[]][]) {
    const plans = await plansOf(session, text, values);
    console.log("=====", what);
    for (const p of plans) console.log(draw(p.root));
  }
  await db.query("delete from fairmill.job");
}, 60000);
