// Jobs with steps do not hold up a deployment: in a child that drains, and on a stop, they end at their next step and go on elsewhere.
import { expect, test } from "vitest";
import { heard, useRig } from "./rig.js";

const rig = useRig();

test("a job with steps leaves a child that drains at its next step, and a supervisor that stops", async () => {
  const supervisor = await rig.start({ grace: "1h", worker: { minInstances: 1 } });
  const moved = await rig.enqueue("stepping");
  const [old] = await rig.runs(moved);
  expect(await supervisor.restart()).toBe(true);
  await rig.letGo(moved);
  const { state, attempt, crashes, result } = await rig.ended(moved);
  expect({ state, attempt, crashes }).toEqual({ state: "done", attempt: 1, crashes: 0 });
  expect(result).toEqual({ first: old, second: expect.any(Number) });
  expect(result!["second"]).not.toBe(old);

  const left = await rig.enqueue("stepping");
  await rig.runs(left);
  const stopping = heard(supervisor, "stopped");
  void supervisor.stop();
  await rig.letGo(left);
  await stopping;
  const [row] = await rig.db.query("select state, attempt, crashes, released from fairmill.job where id = $1", [left]);
  expect(row).toEqual({ state: "ready", attempt: 0, crashes: 0, released: null });
});
