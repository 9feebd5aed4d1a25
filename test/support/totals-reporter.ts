// Ends a test run with one plain line of totals, and tells before it what passed only when it was tried again, and how it had failed.
import type { Reporter, TestModule } from "vitest/node";

export default class TotalsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0 };
    const flaky: string[] = [];
    for (const module of modules) {
      // A file that could not even be loaded has no tests to count.
      if (module.errors().length > 0) counts.failed++;
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result();
        if (state !== "pending") counts[state]++;
        if (test.diagnostic()?.flaky)
          flaky.push(`${module.relativeModuleId} > ${test.fullName}`, ...firstLines(errors?.[0]));
      }
    }
    if (flaky.length > 0)
      console.warn(["Failed once and passed when tried again; find the race:", ...flaky].join("\n  "));
    // After whatever the other reporters still have to say.
    process.on("exit", () =>
      console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`),
    );
  }
}

const LINES_MAX = 8;

/** What a fault says, and where in our files it came up. */
const firstLines = (error: { readonly message: string; readonly stack?: string | undefined } | undefined): string[] =>
  (error?.stack ?? error?.message ?? "no error was kept")
    .split("\n")
    .filter((line) => !line.includes("node_modules"))
    .slice(0, LINES_MAX)
    .map((line) => `    ${line}`);
