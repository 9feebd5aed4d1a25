// The process that runs the config's handlers for `dev`. One process per version of the files: nothing of an old version is left in
// the next one, whatever the modules did when they were loaded.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** What the process tells `dev` about itself. */
export interface DevFacts {
  /** What was applied to the schema. */
  readonly applied: readonly string[];
  readonly hasHandlers: boolean;
  /** Set when the config names a database that `dev` does not use. */
  readonly otherDatabase: boolean;
}

export type DevMessage = { readonly file: string } | { readonly ready: DevFacts } | { readonly worker: string | null };

export interface DevProcess {
  /** The config is loaded and fits; `undefined` when the process ended instead, which said why. */
  readonly ready: Promise<DevFacts | undefined>;
  /** The id of its worker, once it has started; null when the config has no handlers. */
  readonly worker: Promise<string | null>;
  readonly gone: Promise<void>;
  /** Lets running jobs finish, then ends it. */
  stop(): Promise<void>;
}

export function startDevProcess(
  args: readonly string[],
  databaseUrl: string,
  onFile: (file: string) => void,
): DevProcess {
  const child = fork(fileURLToPath(new URL("main.js", import.meta.url)), [...args], {
    env: { ...process.env, DATABASE_URL: databaseUrl },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const gone = goneOf(child);
  let isReady = (_: DevFacts | undefined) => {};
  let hasStarted = (_: string | null) => {};
  const ready = new Promise<DevFacts | undefined>((resolve) => {
    isReady = resolve;
  });
  const worker = new Promise<string | null>((resolve) => {
    hasStarted = resolve;
  });
  child.on("message", (message: DevMessage) => {
    if ("file" in message) onFile(message.file);
    else if ("ready" in message) isReady(message.ready);
    else hasStarted(message.worker);
  });
  void gone.then(() => {
    isReady(undefined);
    hasStarted(null);
  });
  return {
    ready,
    worker,
    gone,
    stop: () => {
      if (child.connected) child.disconnect();
      return gone;
    },
  };
}

async function goneOf(child: ChildProcess): Promise<void> {
  await once(child, "exit").catch(() => {});
}
