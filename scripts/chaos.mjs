// `npm run chaos`: makes a fresh clone ready and runs the fault programme. `npm run chaos -- --help` lists the options.
import { ensureBuilt, ensureInstalled } from "./ensure.mjs";

ensureInstalled();
ensureBuilt();

const stopping = new AbortController();
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
])
  process.on(signal, () => {
    process.exitCode = code;
    stopping.abort(new Error("Stopped."));
  });

if (process.argv.slice(2).some((one) => one === "--programme" || one.startsWith("--programme="))) {
  const { runStickers } = await import("../chaos/stickers.mjs");
  process.exit(await runStickers(process.argv.slice(2), stopping.signal));
}
const { HELP, readOptions } = await import("../chaos/options.mjs");
const { report } = await import("../chaos/report.mjs");
const { runProgramme } = await import("../chaos/programme.mjs");
try {
  const { help, json, ...options } = readOptions(process.argv.slice(2));
  if (help) console.log(HELP);
  else {
    console.error(`seed ${options.seed}, ${options.seconds} s, faults: ${options.faults.join(", ") || "none"}`);
    const fromMs = performance.now();
    const say = (text) => console.error(`${((performance.now() - fromMs) / 1_000).toFixed(0).padStart(5)} s  ${text}`);
    const result = await runProgramme({ ...options, say, signal: stopping.signal });
    console.log(json ? JSON.stringify({ ...options, ...result }, undefined, 1) : report(options, result));
    if (result.problems.length > 0) process.exitCode = 1;
  }
} catch (error) {
  if (!stopping.signal.aborted) {
    console.error(`error: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
process.exit();
