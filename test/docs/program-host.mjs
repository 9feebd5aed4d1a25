// Runs programs one after the other in this one process: to load the library takes longer than most samples run. A program is over when nothing that it
// began keeps the process alive. Its output ends with a mark, because loggers write past `process.stdout`.
import { setTimeout as pause } from "node:timers/promises";

/** Ends what hangs. */
const LEFT_MS_MAX = 60_000;
const exit = process.exit;
const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
/** What process.exit throws, so that nothing behind it is run. It is no failure of the program, and nothing of it is printed. */
const EXITED = new Error("process.exit");

// They count among what keeps the process alive as soon as they are used.
void [process.stdout, process.stderr];

process.on("message", async ({ file, cwd, env, mark }) => {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd);
  const before = active();
  const code = await Promise.race([run(file, before), refusal(), exits()]);
  process.exit = exit;
  process.exitCode = undefined;
  for (const event of ["uncaughtException", "unhandledRejection", ...signals]) process.removeAllListeners(event);
  process.stderr.write(mark);
  process.stdout.write(mark);
  // After an exit or a failure, what it left would run on beside the next program.
  process.send({ code, isSpoilt: active().length > before.length });
});
process.once("disconnect", () => exit());
process.send("ready");

async function run(file, before) {
  try {
    await import(file);
  } catch (error) {
    if (error === EXITED) return new Promise(() => {});
    console.error(error);
    return 1;
  }
  const begun = performance.now();
  while (active().length > before.length) {
    if (performance.now() > begun + LEFT_MS_MAX) {
      console.error(`The program does not end: ${active().join(", ")}.`);
      return 1;
    }
    await pause(2);
  }
  return process.exitCode ?? 0;
}

/** What keeps the process alive. */
function active() {
  return process.getActiveResourcesInfo().filter((name) => name !== "Immediate");
}

const refusal = () =>
  new Promise((resolve) => {
    for (const event of ["uncaughtException", "unhandledRejection"])
      process.on(event, (error) => {
        if (error === EXITED) return;
        console.error(error);
        resolve(1);
      });
  });

const exits = () =>
  new Promise((resolve) => {
    process.exit = (code) => {
      resolve(code ?? process.exitCode ?? 0);
      throw EXITED;
    };
  });
