// Kinds that begin with "fairmill." are Fairmill's own: no door lets one in but publish.
import { expect, test } from "vitest";
import { publishOne } from "../../outbox/outbox-calls.js";
import { useDatabase } from "../../support/database.js";
import { enqueueOne } from "../../support/sql/calls.js";
import { errorCode } from "../../support/sql/sessions.js";

const db = useDatabase();
const KIND = "fairmill.deliver.mail";

test.each([
  ["enqueue_v1", `select * from fairmill.enqueue_v1('${KIND}')`],
  ["enqueue_many_v1", `select * from fairmill.enqueue_many_v1('[{"kind": "work"}, {"kind": "${KIND}"}]')`],
  ["enqueue_many_v1, shared", `select * from fairmill.enqueue_many_v1('[{}]', '{"kind": "${KIND}"}')`],
  ["enqueue_payloads_v1", `select * from fairmill.enqueue_payloads_v1('[{}]', '{"kind": "fairmill.other"}')`],
  ["open_batch_v1", `select * from fairmill.open_batch_v1('{}', '[{"kind": "${KIND}"}]')`],
  [
    "open_batch_v1, a callback",
    `select * from fairmill.open_batch_v1('{"callbacks": {"success": {"kind": "${KIND}"}}}')`,
  ],
  [
    "start_flow_v1, a later node",
    `select * from fairmill.start_flow_v1('{"nodes": [{"name": "a", "jobs": [{"kind": "work"}]}, {"name": "b", "after": [0], "jobs": [{"kind": "${KIND}"}]}]}')`,
  ],
  [
    "start_flow_v1, a callback",
    `select * from fairmill.start_flow_v1('{"callbacks": {"death": {"kind": "${KIND}"}}, "nodes": [{"name": "a", "jobs": [{"kind": "work"}]}]}')`,
  ],
  [
    "set_schedule_v1",
    `select * from fairmill.set_schedule_v1('s', '* * * * *', 'UTC', '{"kind": "${KIND}"}', 'f', now() + interval '1 hour')`,
  ],
])("%s refuses", async (_, statement) => {
  expect(await errorCode(db.query(statement))).toBe("FM001");
  expect(await db.query("select id from fairmill.job union all select id from fairmill.batch")).toEqual([]);
});

test("rerun_v1 refuses one that is in the history without a message", async () => {
  const id = await enqueueOne(db);
  await db.query("select fairmill.cancel_v1($1)", [id]);
  await db.query("update fairmill.job_history set kind = $1", [KIND]);
  expect(await errorCode(db.query("select * from fairmill.rerun_v1($1)", [id]))).toBe("FM001");
});

test("publish makes its own, and names that only look alike are free", async () => {
  await publishOne(db, {});
  await enqueueOne(db, { kind: "fairmill" });
  await enqueueOne(db, { kind: "fairmills.own" });
  expect(await db.query("select kind from fairmill.job order by id")).toEqual([
    { kind: KIND },
    { kind: "fairmill" },
    { kind: "fairmills.own" },
  ]);
});
