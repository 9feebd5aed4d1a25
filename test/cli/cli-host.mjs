// Runs commands one after the other in this one process, from the build: loading the command takes ten times as long as most commands. What a command
// reads of its process (variables, folder) is as in one of its own, and what it prints is caught below everything that prints.

let printed = { stdout: "", stderr: "" };

const catching = (name) => (text, encoding, done) => {
  printed[name] += typeof text === "string" ? text : Buffer.from(text).toString("utf8");
  const then = typeof encoding === "function" ? encoding : done;
  if (then !== undefined) process.nextTick(then);
  return true;
};
const write = { stdout: catching("stdout"), stderr: catching("stderr") };
const restore = () => {
  process.stdout.write = write.stdout;
  process.stderr.write = write.stderr;
};

restore();
// Behind that: the command keeps the function that writes to stdout.
const { flushed } = await import("../../dist/cli/output.js");
const { run } = await import("../../dist/cli/program.js");

process.on("message", async ({ args, cwd, env }) => {
  printed = { stdout: "", stderr: "" };
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(cwd);
  const code = await run(args);
  await flushed();
  // With --json a command turns it away.
  restore();
  process.send({ code, ...printed });
});
process.once("disconnect", () => process.exit());
process.send("ready");
