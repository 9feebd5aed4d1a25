// The dashboard beside `dev`, in a process of its own: it stays while workers come and go, and a handler that blocks its process does not block it.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";

/** Where `fairmill serve` is, so that a page that is open in a browser finds it again tomorrow. */
const USUAL_PORT = 7420;

export interface DevDashboard {
  /** Undefined: it could not be started, and said why. */
  readonly url: Promise<string | undefined>;
  stop(): Promise<void>;
}

export function startDevDashboard(args: readonly string[], databaseUrl: string): DevDashboard {
  let child: ChildProcess | undefined;
  let isOver = false;
  const start = async () => {
    const port = (await isFree(USUAL_PORT)) ? USUAL_PORT : 0;
    if (isOver) return undefined;
    child = fork(
      fileURLToPath(new URL("main.js", import.meta.url)),
      ["serve", "--json", "--port", String(port), ...args],
      {
        // What it logs is of no use to a person who writes jobs.
        env: { ...process.env, DATABASE_URL: databaseUrl, FAIRMILL_LOG_LEVEL: "error" },
        stdio: ["ignore", "pipe", "inherit", "ipc"],
      },
    );
    return urlOf(child);
  };
  const url = start();
  return {
    url,
    stop: async () => {
      isOver = true;
      await url;
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, "exit");
      if (child.connected) child.disconnect();
      await gone;
    },
  };
}

async function urlOf({ stdout }: ChildProcess): Promise<string | undefined> {
  let text = "";
  for await (const chunk of stdout!) {
    text += chunk;
    if (text.trimEnd().endsWith("}")) return (JSON.parse(text) as { url: string }).url;
  }
  return undefined;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
