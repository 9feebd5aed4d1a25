// Installs the other queues when `--peers` asks for them, in this folder and nowhere else: a clone without benchmarks has none of them.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
/** Two of the peers need a newer Node than Fairmill does; all systems run under this one, so that none has an advantage. */
const NODE = fileURLToPath(new URL("node_modules/.bin/node", import.meta.url));

/** The Node to run the benchmark with. Throws an Error with a sentence for the user when npm cannot install. */
export function ensurePeers() {
  if (!existsSync(NODE)) {
    console.error("Installing pg-boss, graphile-worker, BullMQ and one version of Node for all, in bench/peers …");
    const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: FOLDER,
      stdio: ["ignore", "ignore", "inherit"],
      shell: process.platform === "win32",
    });
    if (status !== 0)
      throw new Error("npm could not install the other queues. Run `npm ci` in bench/peers and look at what it says.");
  }
  return NODE;
}
