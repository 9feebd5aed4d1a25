// `npm run test:fast`: every test but those of the slowest files, for everyday work. `npm test` runs all of them.
import { ensureBuilt, ensureInstalled, run, tool } from "./ensure.mjs";
import { slowTests } from "./slow-tests.mjs";

ensureInstalled();
ensureBuilt();
const { slow, total } = slowTests();
const left = Object.values(slow).flat();
// Also when tests fail, which ends the process.
process.on("exit", () => {
  console.log(`\nLeft out: ${left.length} of ${total} test files. \`npm test\` runs everything.`);
  for (const [reason, files] of Object.entries(slow)) console.log(`  ${String(files.length).padStart(3)}  ${reason}`);
});
run(tool("vitest"), ["run", ...left.flatMap((path) => ["--exclude", `test/${path}`]), ...process.argv.slice(2)]);
