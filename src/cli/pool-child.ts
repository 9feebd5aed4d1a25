// What a child process of `fairmill supervise` runs: loads the config in whatever language it is written, as the command itself does.
import { runChild } from "../pool/child/run-child.js";
import { loadConfig } from "./config-file.js";
import { stderrLogger } from "./stderr-logger.js";

const [path, logLevel] = process.argv.slice(2);

runChild(async () => {
  const { settings } = await loadConfig(path!);
  const { handlers, channels, use, codec, offload, queues, concurrency, logger } = settings;
  // With --json the supervisor's stdout is for one value alone, so its children log to stderr.
  return {
    handlers,
    channels,
    use,
    codec,
    offload,
    queues,
    concurrency,
    logger: logger ?? (logLevel === undefined ? undefined : stderrLogger(logLevel)),
  };
});
