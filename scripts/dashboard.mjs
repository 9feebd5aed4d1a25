// `npm run dashboard`: the dashboard with made-up data, for work on it. `-- --mode=empty --role=viewer --tenant=acme --port=4600`; vite rebuilds on change.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createJiti } from "jiti";
import { ensureDashboard } from "./dashboard-build.mjs";
import { ensureInstalled, root, tool } from "./ensure.mjs";

ensureInstalled();
ensureDashboard();
const option = (name, fallback) =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.split("=")[1] ?? fallback;
const { Fixture } = await createJiti(import.meta.url).import(join(root, "test", "dashboard", "fixture", "server.ts"));
const fixture = new Fixture(join(root, "dist", "dashboard"));
fixture.mode = option("mode", "busy");
fixture.role = option("role", "admin");
fixture.tenant = option("tenant", null);
console.log(`The dashboard with made-up data: ${await fixture.start(Number(option("port", 0)))}`);
const vite = spawn(
  tool("vite"),
  ["build", "--watch", "--config", join(root, "dashboard", "vite.config.ts"), "--logLevel", "warn"],
  { cwd: root, stdio: "inherit" },
);
process.once("SIGINT", async () => {
  vite.kill();
  await fixture.stop();
});
