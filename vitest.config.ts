import { defineConfig } from "vitest/config";
import SlowFirst from "./test/support/slow-first.js";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    setupFiles: ["test/support/hooks.ts"],
    sequence: { sequencer: SlowFirst },
    pool: "forks",
    // A process runs one file after the other and loads the sources once. What a file leaves behind is ended and put back (test/support/hooks.ts).
    isolate: false,
    // Tests wait for PostgreSQL and for processes more than they compute.
    maxWorkers: 6,
    // Ends what hangs, and measures nothing: a machine that is busy with other things may take its time.
    testTimeout: 400_000,
    hookTimeout: 400_000,
    // In CI, one race among thousands of tests does not refuse a change; it is named at the end of the run and mended next.
    retry: process.env["CI"] === undefined ? 0 : 1,
    reporters: ["default", "./test/support/totals-reporter.ts"],
  },
});
