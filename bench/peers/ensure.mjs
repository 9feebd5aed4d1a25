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
    // They run under the Node that is installed with them, not under the one that installs them. Not `npm ci`: it refuses a lock that lacks
    // optional packages of other platforms, as npm writes it on one of them. `--no-save` takes the versions of the lock and leaves it as it is.
    const { status } = spawnSync(
      "npm",
      ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error", "--engine-strict=false"],
      { cwd: FOLDER, stdio: ["ignore", "ignore", "inherit"], shell: process.platform === "win32" },
    );
    if (status !== 0)
      throw new Error(
        "npm could not install the other queues. Run `npm install --no-save` in bench/peers and look at what it says.",
      );
  }
  return NODE;
}
