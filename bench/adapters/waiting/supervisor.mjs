// Jobs that wait, in the children of one supervisor: as many as the settings say, from the beginning to the end.
import { createSupervisor } from "../../../dist/index.js";

export async function startWorker({ url }, { children }) {
  const supervisor = createSupervisor({
    module: new URL("./config.mjs", import.meta.url),
    databaseUrl: url,
    worker: { minInstances: children, maxInstances: children },
  });
  await supervisor.start();
  while (supervisor.children().filter(({ state }) => state === "ready" || state === "working").length < children)
    await new Promise((resolve) => setTimeout(resolve, 10));
  return { stop: () => supervisor.stop() };
}
