// `fairmill dev-worker`: what `dev` runs in a process of its own, and again when a file changes. Not for people.
import { defineCommand } from "../command.js";
import { findConfig } from "../config-file.js";
import type { DevMessage } from "../dev-process.js";
import { UsageError } from "../failure.js";
import { tellLoadedFiles } from "../loaded-files.js";
import { catchSignals } from "../signals.js";
import { loadConfigFor, schemaSaid, urlOfEnvironment, withClient } from "../target.js";
import { declareWorkerFlags, type WorkerFlags, workerFrom } from "../worker-from-config.js";

export const devWorker = defineCommand<WorkerFlags>({
  name: "dev-worker",
  hidden: true,
  summary: "the worker of `fairmill dev`, which starts it",
  examples: [["fairmill dev", "what to call instead"]],
  declare: declareWorkerFlags,
  run: async ({ options, out }) => {
    const path = await findConfig(options.config);
    const databaseUrl = urlOfEnvironment();
    if (process.send === undefined || path === undefined || databaseUrl === undefined)
      throw new UsageError('This is a part of `fairmill dev`. Write "fairmill dev".');
    const tell = (message: DevMessage) => void (process.connected && process.send?.(message));
    const tellFile = (file: string) => tell({ file });
    tellFile(path);
    tellLoadedFiles(tellFile);
    const signals = catchSignals();
    try {
      const config = await loadConfigFor(databaseUrl, path, tellFile);
      const { handlers = [], channels = [], databaseUrl: ofConfig } = config.settings;
      const schema = schemaSaid(options) ?? config.settings.schema;
      const hasHandlers = handlers.length + channels.length > 0;
      const worker = hasHandlers ? await workerFrom(config, options, { databaseUrl, schema }, out) : undefined;
      const applied = await withClient({ databaseUrl, schema }, (client) => client.migrate());
      tell({ ready: { applied, hasHandlers, otherDatabase: ofConfig !== undefined && ofConfig !== databaseUrl } });
      await worker?.start();
      tell({ worker: worker?.id ?? null });
      await signals.first;
      await worker?.stop();
    } finally {
      signals.release();
    }
    return 0;
  },
});
