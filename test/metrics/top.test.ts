// `fairmill top`: no line is wider than 80 columns or taller than the terminal, whatever is in the database; live, it draws over itself.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { tableOf } from "../../src/cli/table.js";
import { fitTo, oneLine, widthOf } from "../../src/cli/text.js";
import { spanOf } from "../../src/cli/times.js";
import type { Figures } from "../../src/metrics/figures.js";
import { topLines } from "../../src/metrics/top-view.js";
import { cli, jsonOf, repo } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";
import { record } from "./rows.js";

const db = useDatabase();
const hostile = `\x1b[2J"; drop\u202e 日本${"x".repeat(300)}`;

const tools = {
  table: (headings: readonly string[], rows: readonly (readonly string[])[]) => tableOf(headings, rows, 80),
  span: spanOf,
  line: (text: string) => fitTo(oneLine(text), 80).trimEnd(),
  bold: (text: string) => text,
};

async function fill() {
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(defineJob({ kind: "mail", queue: "mails" }), [
    { input: {}, tenant: "acme" },
    { input: {}, tenant: "umbrella" },
  ]);
  await db.query(
    "select fairmill.register_v1('host-1-worker', '{mails}', interval '1 hour', null, 5, 'host', 1, '0.1.0')",
  );
  await record(db, {
    processed: 300,
    failed: 3,
    kinds: { mail: { runs: 300, run_ms: 3_000, failed: 3 } },
    tenants: { acme: { claimed: 225, runs: 225, waits: 1, wait_ms: 40 }, umbrella: { claimed: 75 } },
  });
}

test("shows what happens now and how tenants are served, in 80 columns", async () => {
  await fill();
  const { code, stdout } = await cli(["top", "--once"], { env: { DATABASE_URL: db.url, COLUMNS: "80" } });
  expect(code).toBe(0);
  const lines = stdout.split("\n");
  for (const line of lines) expect(widthOf(line), line).toBeLessThanOrEqual(80);
  expect(stdout).toContain("ready 2   running 0 of 5");
  expect(stdout).toMatch(/^mails +2 +0/m);
  expect(stdout).toMatch(/^acme +1 +1 +0 +225 +75 % +40ms/m);
  expect(stdout).toMatch(/^mail +300 +10ms +1\.0 %|^mail +300 +10ms/m);
  expect(stdout).toContain("host-1-worker");
  expect(
    jsonOf<{ figures: object }>(await cli(["top", "--json"], { env: { DATABASE_URL: db.url } })).figures,
  ).toMatchObject({ sums: { processed: 300 } });
});

test("an empty database", async () => {
  const { code, stdout } = await cli(["top", "--once"], { env: { DATABASE_URL: db.url, COLUMNS: "80" } });
  expect(code).toBe(0);
  expect(stdout).toContain("ready 0   running 0 of 0");
});

test("hostile names and many of them fit any terminal, and each table shows something", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const figures = await client.metrics.figures();
  const queue = {
    queue: hostile,
    ready: 1,
    readyMore: true,
    running: 0,
    scheduled: 0,
    scheduledMore: false,
    blocked: 0,
    blockedMore: false,
    workers: 1,
    isPaused: true,
    oldestMs: 5,
  };
  const many: Figures = {
    ...figures,
    queues: Array.from({ length: 100 }, () => queue),
    kinds: Array.from({ length: 100 }, (_, n) => ({
      kind: `${hostile}${n}`,
      runs: 1,
      failed: 0,
      dead: 0,
      runMs: 1,
      waits: 0,
      waitMs: 0,
    })),
  };
  const tenants = Array.from({ length: 50 }, (_, n) => ({
    tenant: `t${n}${hostile}`,
    weight: 1,
    ready: { count: 5, more: false },
    running: { count: 0, more: false },
  }));
  const alerts = Array.from({ length: 9 }, () => ({ severity: "warning", message: hostile }));
  for (const rows of [12, 24, 50]) {
    const lines = topLines({ figures: many, tenants, alerts, where: hostile }, rows, tools);
    expect(lines.length).toBeLessThanOrEqual(rows);
    for (const line of lines) {
      expect(widthOf(line)).toBeLessThanOrEqual(80);
      expect(line).not.toContain("\x1b");
    }
    if (rows >= 24)
      for (const heading of ["QUEUE", "TENANT", "KIND"])
        expect(lines.some((line) => line.startsWith(heading))).toBe(true);
  }
});

const script = spawnSync("script", ["--version"]).status === 0;
if (!script) console.log("No program `script` was found, so the live view is not tried in a terminal.");
test.skipIf(!script)(
  "live in a terminal: draws over itself without wiping, ends with q, and leaves the screen as it was",
  async () => {
    await fill();
    const line = `stty rows 30 cols 80; exec node ${join(repo, "dist/cli/main.js")} top --every 300ms`;
    const terminal = spawn("script", ["-qec", line, "/dev/null"], {
      env: { PATH: process.env["PATH"], DATABASE_URL: db.url },
      stdio: ["pipe", "pipe", "ignore"],
    });
    let shown = "";
    terminal.stdout.on("data", (chunk) => {
      shown += chunk;
    });
    const ended = once(terminal, "exit");
    await waitUntil("it was drawn twice", () => shown.split("\x1b[H").length > 2);
    terminal.stdin.write("q");
    expect((await ended)[0]).toBe(0);
    expect(shown.startsWith("\x1b[?1049h\x1b[?25l")).toBe(true);
    expect(shown.endsWith("\x1b[?25h\x1b[?1049l")).toBe(true);
    expect(shown).toContain("mails");
    expect(shown).not.toContain("\x1b[2J");
    for (const picture of shown.split("\x1b[H").slice(1)) expect(picture.split("\r\n").length).toBeLessThan(30);
  },
);
