// What is left of a supervisor that was killed: its children end, their rows say so when its lease is over, and others run its jobs.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { waitUntil } from "../support/wait.js";
import { MODULE, servingAtLeast, useRig } from "./rig.js";

const rig = useRig();
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
const SCRIPT = fileURLToPath(new URL("./supervisor-process.mjs", import.meta.url));

test("the rows of its children say that they ended, and not before its lease is over; those of another supervisor stay", async () => {
  const victim = fork(SCRIPT, {
    env: { ...process.env, TEST_MODULE: MODULE },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const [message] = (await once(victim, "message")) as [{ pids: number[] }];
  const job = await rig.enqueue("held");
  await rig.runs(job);
  const [lost] = (await rig.db.query<{ id: string }>("select id from fairmill.supervisor")) as [{ id: string }];
  // Held for a while: upkeep of the other one comes before its end.
  await rig.db.query("update fairmill.worker set lease_until = clock_timestamp() + interval '1 hour'");
  victim.kill("SIGKILL");
  await waitUntil("its children are gone", () => message.pids.every((pid) => !isAlive(pid)));
  // Once more: its last beat may have come after the first.
  await rig.db.query("update fairmill.worker set lease_until = clock_timestamp() + interval '1 hour'");
  const survivor = await rig.start({ worker: { minInstances: 2 } });
  await servingAtLeast(survivor, 2);
  const states = () =>
    rig.db.query<{ state: string; running: number; reason: string | null }>(
      "select state, running, reason from fairmill.child where supervisor = $1 order by number",
      [lost.id],
    );
  await rig.db.query("update fairmill.worker set lease_until = clock_timestamp() + interval '1 hour'");
  await rig.db.query("select fairmill.tick_upkeep_v1()");
  expect((await states()).map(({ state }) => state)).not.toContain("terminated");

  await rig.db.query(
    `update fairmill.worker w set lease_until = clock_timestamp() - interval '1 millisecond'
     from fairmill.supervisor s where s.id = $1 and w.id = s.worker`,
    [lost.id],
  );
  await rig.runs(job, 2);
  await rig.letGo();
  expect(await rig.ended(job)).toMatchObject({ state: "done", crashes: 1 });
  const gone = { state: "terminated", running: 0, reason: "its supervisor was lost" };
  await waitUntil("the rows say so", async () => (await states()).every(({ state }) => state === "terminated"));
  expect(await states()).toEqual([gone, gone]);
  await rig.db.query("select fairmill.tick_upkeep_v1()");
  expect(
    await rig.db.query(
      "select count(*)::integer as living from fairmill.child where supervisor <> $1 and state in ('ready', 'working')",
      [lost.id],
    ),
  ).toEqual([{ living: 2 }]);
});

test("a supervisor whose worker was taken to be lost, and which lives, reports its children as they are", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 1, healthCheckInterval: "1h" } });
  await servingAtLeast(supervisor, 1);
  await rig.db.query("update fairmill.supervisor set worker = 'another'");
  await rig.db.query("select fairmill.tick_upkeep_v1()");
  expect(await rig.db.query("select state from fairmill.child")).toEqual([{ state: "terminated" }]);
  // A change of its children is reported at once.
  await supervisor.restart();
  await waitUntil("they are there again", async () =>
    (await rig.db.query<{ state: string }>("select state from fairmill.child")).some(({ state }) => state === "ready"),
  );
});
