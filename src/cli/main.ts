#!/usr/bin/env node
// The `fairmill` command.
import { outliveTerminal } from "../base/terminal.js";
import { flushed } from "./output.js";
import { run } from "./program.js";

outliveTerminal();

/** The reader of the output may close it early: `fairmill jobs | head -1`. */
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // Its terminal was closed: the signal that comes with that says what to do.
  if (error.code !== "EIO") process.exit(error.code === "EPIPE" ? 0 : 1);
});

// Until the command has ended, any other way to end the process is a failure.
process.exitCode = 1;
const exitCode = await run(process.argv.slice(2));
await flushed();
// Not left to the event loop: a config may have opened connections of its own, that are never closed.
process.exit(exitCode);
