// `npm test`: everything a fresh clone needs, then every test. Arguments go to vitest: `npm test -- claim`.
import { ensureDashboard } from "./dashboard-build.mjs";
import { ensureBuilt, ensureInstalled, run, tool } from "./ensure.mjs";

ensureInstalled();
ensureBuilt();
ensureDashboard();
run(tool("vitest"), ["run", ...process.argv.slice(2)]);
