// `fairmill workers`: the workers that live, with the processes of their pools, and what the autoscaler decided.
import { styleText } from "node:util";
import { systemClock } from "../../base/clock.js";
import { name, whole } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import { tableOf } from "../../cli/table.js";
import { findTarget } from "../../cli/target.js";
import { relative, spanOf } from "../../cli/times.js";
import { Database } from "../../db/database.js";
import { explaining } from "../../db/explain-failure.js";
import { type ChildRow, readDecisions, readWorkers, type StoredDecision, type WorkerRow } from "../pool-statements.js";

interface Options {
  readonly all?: true;
  readonly limit?: number;
  readonly decisions?: string;
}

const LIMIT_MAX = 1_000;

export const workers = defineCommand<Options>({
  name: "workers",
  summary: "show the workers and the processes of their pools",
  description: `A worker that supervises a pool is followed by its children, with processor time, memory, age and the jobs that each has run.
--decisions shows what the autoscaler of a pool decided, and what it did not do, with the reasons.`,
  examples: [
    ["fairmill workers", "those that live"],
    ["fairmill workers --all", "those that have ended, too"],
    ["fairmill workers --decisions default", 'why the pool "default" has as many processes as it has'],
  ],
  declare: (command) =>
    command
      .option("--all", "also workers and children that have ended")
      .option("--limit <n>", `how many, at most ${LIMIT_MAX}`, whole("--limit", 1, LIMIT_MAX))
      .option("--decisions <pool>", "decisions about the size of a pool instead", name("--decisions")),
  run: async ({ options, out }) => {
    const { databaseUrl, schema } = await findTarget(options);
    const db = new Database({ databaseUrl, schema }, { connectionsMax: 1, applicationName: "fairmill workers" });
    const limit = options.limit ?? 50;
    try {
      if (options.decisions !== undefined) {
        const pool = options.decisions;
        const decisions = await explaining(db.schema, () => readDecisions(db, pool, limit));
        out.result(
          { pool, decisions },
          decisions.length === 0 ? `Nothing was decided about pool "${pool}".` : decided(decisions, out.columns),
        );
        return 0;
      }
      const found = await explaining(db.schema, () => readWorkers(db, limit, options.all === true));
      out.result({ workers: found }, found.length === 0 ? "No worker lives." : shown(found, out.columns, out.coloured));
      return 0;
    } finally {
      await db.close();
    }
  },
});

const HEADINGS = ["WORKER", "POOL", "PID", "STATE", "RUNNING", "JOBS", "CPU", "MEMORY", "UP", "NOTE"];

function shown(found: readonly WorkerRow[], columnsMax: number, coloured: boolean): string {
  const nowMs = systemClock.now();
  const rows = found.flatMap((worker) => [workerRow(worker, nowMs), ...worker.children.map(childRow)]);
  return tableOf(HEADINGS, rows, columnsMax, (heading, cell) =>
    coloured && heading === "STATE" && /failed|lost|silent/.test(cell) ? styleText("red", cell) : cell,
  );
}

const workerRow = (worker: WorkerRow, nowMs: number): string[] => [
  worker.id,
  worker.pool ?? "",
  String(worker.pid ?? ""),
  worker.state,
  String(worker.running),
  String(worker.claimed),
  "",
  bytes(worker.memoryBytes),
  spanOf(nowMs - worker.startedAt.getTime()),
  noteOf(worker, nowMs),
];

function noteOf({ state, beatAt }: WorkerRow, nowMs: number): string {
  if (state === "alive") return "";
  const beat = `last beat ${relative(beatAt, nowMs)}`;
  return state === "silent" ? `${beat}: its lease is over, and no worker has taken its jobs over yet` : beat;
}

const childRow = (child: ChildRow): string[] => [
  `  child ${child.number}`,
  "",
  String(child.pid ?? ""),
  child.draining && child.state !== "terminated" ? `${child.state}, draining` : child.state,
  String(child.running),
  String(child.jobsProcessed),
  `${Math.round(child.cpu * 100)} %`,
  bytes(child.memoryBytes),
  spanOf(child.uptimeMs),
  [failuresOf(child.failures), child.reason ?? ""].filter(Boolean).join(": "),
];

const failuresOf = (count: number) => (count === 0 ? "" : count === 1 ? "1 failure" : `${count} failures in a row`);

const bytes = (count: number | null) => (count === null || count === 0 ? "" : `${Math.round(count / 1024 / 1024)} MiB`);

function decided(decisions: readonly StoredDecision[], columnsMax: number): string {
  const nowMs = systemClock.now();
  return tableOf(
    ["WHEN", "ACTION", "FROM", "WANTED", "TO", "TIMES", "REASON"],
    decisions.map((one) => [
      relative(one.lastAt, nowMs),
      one.action,
      String(one.current),
      String(one.wanted),
      String(one.target),
      String(one.times),
      one.reason,
    ]),
    columnsMax,
  );
}
