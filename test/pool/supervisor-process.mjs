// A supervisor in a process of its own, to be killed.
import { createSupervisor } from "fairmill";

const supervisor = createSupervisor({
  module: process.env.TEST_MODULE,
  lease: "2s",
  worker: { minInstances: 2, allocation: "round-robin" },
});
await supervisor.start();
while (supervisor.children().filter(({ state }) => state === "ready").length < 2)
  await new Promise((resolve) => setTimeout(resolve, 10));
process.send({ pids: supervisor.children().map(({ pid }) => pid) });
process.on("disconnect", () => process.exit());
