// `fairmill serve` beside a measurement: a process of its own, ended with it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

/** Runs the work with the address of a server, and the id of its process. */
export async function serving(bench, databaseUrl, work) {
  const child = spawn(process.execPath, [MAIN, "serve", "--port", "0", "--json"], {
    env: { ...process.env, DATABASE_URL: databaseUrl, FAIRMILL_DASHBOARD_AUTH: "", FAIRMILL_LOG_LEVEL: "error" },
    cwd: "/",
    stdio: ["ignore", "pipe", "inherit"],
  });
  bench.children.add(child);
  const ended = once(child, "exit");
  try {
    return await work(await addressOf(child), child.pid);
  } finally {
    child.kill("SIGTERM");
    await ended;
    bench.children.delete(child);
  }
}

async function addressOf(child) {
  let text = "";
  for await (const chunk of child.stdout) {
    text += chunk;
    const line = text.split("\n").find((one) => one.includes('"url"'));
    if (line) return JSON.parse(line).url;
  }
  throw new Error("fairmill serve ended before it listened.");
}
