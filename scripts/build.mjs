import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ensureDashboard } from "./dashboard-build.mjs";
import { ensureBuilt, ensureInstalled, root } from "./ensure.mjs";

ensureInstalled();
// What is not of the sources any more goes; the dashboard empties its folder itself, and is kept where nothing changed.
for (const name of existsSync(join(root, "dist")) ? readdirSync(join(root, "dist")) : [])
  if (name !== "dashboard" && name !== ".built-dashboard")
    rmSync(join(root, "dist", name), { recursive: true, force: true });
ensureBuilt();
ensureDashboard();
