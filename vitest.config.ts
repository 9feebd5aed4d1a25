import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    pool: "forks",
    // Tests wait for PostgreSQL and for processes more than they compute.
    maxWorkers: 4,
    // Ends what hangs, and measures nothing: a machine that is busy with other things may take its time.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    reporters: ["default", "./test/support/totals-reporter.ts"],
  },
});
