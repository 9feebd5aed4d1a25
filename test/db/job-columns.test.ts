// A column of `job` is written in six places, because each has its own speed or its own reason. None of them forgets one: whatever it leaves out
// is named here, with what the column holds instead. The texts are compared, so a new column fails here before any job is stored.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { functionTexts } from "../support/sql/function-texts.js";

const schema = readFileSync(join(import.meta.dirname, "..", "..", "sql", "schema.sql"), "utf8");

/** The columns of a table, in no order. */
function columnsOf(table: string): string[] {
  const body = new RegExp(`^create table fairmill\\.${table} \\(\\n([^]*?)^\\)`, "m").exec(schema)![1]!;
  return [...body.matchAll(/^ {2}(\w+) (?!CHECK|PRIMARY|UNIQUE|FOREIGN)/gm)]
    .map(([, name]) => name!)
    .filter((name) => name !== "constraint")
    .toSorted();
}

/** What begins with every job, however it comes: the default of the table, which for most of these is nothing. */
const OF_A_RUN = [
  ...["attempt", "cancel_requested_at", "crashes", "created_at", "failures", "lease_no", "progress", "rate_limited"],
  ...["rate_limited_times", "released", "started_at", "turn_no", "waits_for", "worker"],
];
/** Said afterwards, by the call that made the job from an ended one. */
const LATER = ["rerun_of"];
/** What a job has that must be judged or has more to it than its payload: such a job goes the way of insert_jobs. */
const JUDGED = [
  ...["batch", "limit_key", "outbox", "reservation", "slot", "tags", "timeout_ms", "trace", "unique_key"],
  ...["unique_until", "uses"],
];
const PLACES: readonly [text: string, table: "job" | "job_history", leftOut: readonly string[]][] = [
  ["insert_jobs", "job", [...OF_A_RUN, ...LATER]],
  ["enqueue_payloads_v1", "job", [...OF_A_RUN, ...LATER, ...JUDGED]],
  // The id by default; a job that is ready at once stands aside for nothing.
  ["enqueue_one_v1", "job", [...OF_A_RUN, ...LATER, ...JUDGED, "id", "key", "run_at", "aside"]],
  ["end_jobs", "job_history", []],
  // It never ran and held nothing.
  [
    "bury_jobs",
    "job_history",
    [
      ...["expire_at", "failures", "limit_key", "outbox", "progress", "rerun_of", "reservation", "result", "run_at"],
      ...["started_at", "worker"],
    ],
  ],
  // It comes back as new: counted from zero, without its time to live and its unique key.
  [
    "revive",
    "job",
    [
      ...["attempt", "cancel_requested_at", "crashes", "expire_at", "progress", "rate_limited", "rate_limited_times"],
      ...["released", "run_at", "slot", "started_at", "unique_key", "unique_until", "waits_for", "worker"],
    ],
  ],
];

const texts = await functionTexts();

describe("a column of a job", () => {
  test.each(PLACES)("%s writes every column of %s, or leaves it out on purpose", (name, table, leftOut) => {
    const written = new RegExp(`insert into fairmill\\.${table} \\(([^)]+)\\)`).exec(texts.get(name)!)![1]!;
    const named = written.split(",").map((column) => column.trim());
    expect(columnsOf(table).filter((column) => !named.includes(column))).toEqual(leftOut.toSorted());
    expect(new Set(named).size).toBe(named.length);
  });

  test("no other function adds rows to either table", () => {
    const adding = [...texts].filter(([, text]) => /insert into fairmill\.job(_history)?\b(?!_)/.test(text));
    expect(adding.map(([name]) => name).toSorted()).toEqual(PLACES.map(([name]) => name).toSorted());
  });

  test("what enqueue_payloads_v1 does not store, it refuses: no field is dropped on the short way", () => {
    const text = texts.get("enqueue_payloads_v1")!;
    const lists = [...text.matchAll(/'\{(kind,[\w,]+)\}'::text\[\]/g)].map(([, list]) => list);
    expect(new Set(lists)).toEqual(new Set(["kind,tenant,queue,priority,max_attempts,key,run_at,delay_ms,expire_ms"]));
  });
});
