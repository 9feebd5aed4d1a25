// The order of locks is one list, in docs/explanation/lock-order.md. What the header of a function says of its locks is compared with it: names and
// numbers as in the list, in its order, and functions that exist.

/** The list: name by number. */
export function readLockOrder(page) {
  const rows = [...page.matchAll(/^\| (\d+) \| `([^`]+)` \|/gm)];
  return new Map(rows.map(([, number, name]) => [Number(number), name]));
}

/** What a header says of locks, up to its first full stop, without remarks in brackets; undefined: nothing. */
export function locksOf(header) {
  const text = header.replaceAll(/\n--\s*/g, " ");
  const found = /\bLocks: (.*?)\.(?: |$|\n)/s.exec(`${text} `);
  return found?.[1].replaceAll(/\((?!against)[^)]*\)/g, "").trim();
}

/** What is wrong with it, as sentences. */
export function lockFaults(locks, order, functions) {
  const faults = [];
  let last = -1;
  for (const [, number, name] of locks.matchAll(/(?<![\w])(\d+) ([a-z]+(?: [a-z]+)?)/g)) {
    const known = order.get(Number(number));
    if (known === undefined || !(name === known || name.startsWith(`${known} `))) {
      faults.push(`"${number} ${name}" is not in the list`);
      continue;
    }
    if (Number(number) <= last && !locks.includes("against the order"))
      faults.push(`${number} ${known} comes after ${last} ${order.get(last)}`);
    last = Number(number);
  }
  for (const [, name] of locks.matchAll(/\bas (\w+)/g))
    if (!functions.has(name)) faults.push(`there is no function ${name}`);
  if (faults.length === 0 && last === -1 && !/\bas \w+|^none\b/.test(locks))
    faults.push("it names no lock of the list");
  return faults;
}

/** A statement that locks rows which were there before, or waits for them. */
const LOCKING = /\bfor (?:no key )?update\b|\bfor key share\b|\bfor share\b|pg_advisory_xact_lock/;

export const takesLocks = (body) => LOCKING.test(body.replaceAll(/--.*$/gm, ""));

/** The locks that a statement on a table can take, by the numbers of the list. Tables that are not here are only added to, or changed under a lock of another one. */
const LOCKS_OF_TABLES = {
  account: [15],
  alert: [23],
  alert_silence: [23],
  batch: [11, 13],
  budget: [34],
  bulk_action: [0],
  cache_entry: [31],
  channel_end: [33],
  child: [26],
  claim_list: [21],
  content: [35],
  idempotency: [14],
  job: [8, 19],
  job_history: [7],
  job_log: [23],
  key_limit: [6],
  key_limit_report: [2],
  limit_setting: [6],
  meter: [5, 16, 17],
  metric_sample: [23],
  named_limit: [2],
  outbox: [10, 12],
  pool: [24],
  provider: [28],
  provider_charge: [30],
  provider_cost: [30],
  provider_event: [30],
  provider_minute: [30],
  provider_share: [29],
  queue: [20],
  scale_decision: [27],
  schedule: [1],
  step: [9],
  supervisor: [25],
  tenant_erasure: [0],
  tick_slot: [32],
  unique_period: [18],
  worker: [4],
  worker_tick_metrics: [23],
};

/**
 * Functions that make a statement while they run, because the name of a table is data there, and the tables whose rows it locks: the text of such a
 * statement is not read. No other function may.
 */
const DYNAMIC = {
  // One table of erased_tables a call.
  erase_blocks: ["job_history", "outbox", "batch"],
  // Makes and attaches days, under the lock of a partition.
  history_partitions_v1: [],
  preview_retention_v1: [],
  remove_ended: ["job_history"],
  // Drops days.
  retention: ["job_history"],
  tenant_jobs: [],
  walk_history: [],
};

/** Functions that make statements and are not in the list, or are in it and make none. */
export function dynamicFaults(functions, listed = DYNAMIC) {
  const faults = [];
  for (const [name, body] of functions) {
    const makes = /\bexecute\b(?! function| procedure)/.test(body.replaceAll(/--.*$/gm, ""));
    if (makes && !(name in listed))
      faults.push([name, "it makes a statement while it runs, and scripts/lock-order.mjs does not list it"]);
    if (!makes && name in listed)
      faults.push([name, "it makes no statement any more, and scripts/lock-order.mjs lists it"]);
  }
  return faults;
}

/** Tables whose rows the body locks by itself: changes, deletes, inserts that may meet a row, and locking reads. */
export function tablesLockedBy(body) {
  const text = body.replaceAll(/--.*$/gm, "");
  const tables = new Set();
  for (const [, table] of text.matchAll(/\b(?:update|delete from) fairmill\.(\w+)/g)) tables.add(table);
  for (const [, table] of text.matchAll(/\binsert into fairmill\.(\w+)(?:(?!;)[\s\S])*?\bdo update\b/g))
    tables.add(table);
  for (const { index } of text.matchAll(/\bfor (?:no key )?update\b|\bfor key share\b|\bfor share\b/g)) {
    const [, table] = /\bfrom fairmill\.(\w+)/.exec(queryBefore(text, index)) ?? [];
    if (table) tables.add(table);
  }
  return tables;
}

/** The query that ends here, without what stands in brackets inside of it. */
function queryBefore(text, end) {
  let query = "";
  let depth = 0;
  for (let i = end - 1; i >= 0 && depth >= 0; i--) {
    if (text[i] === ";" && depth === 0) break;
    if (text[i] === ")") depth++;
    else if (text[i] === "(") depth--;
    else if (depth === 0) query = text[i] + query;
  }
  return query;
}

/** One lock of several, as an argument says: lock_meters. */
const isChoice = (locks) => / or \d+ /.test(locks ?? "");

const numbersIn = (text) => [...text.matchAll(/(?<!\w)(\d+) [a-z]+/g)].map(([, number]) => Number(number));

/**
 * Compares what headers say with what bodies do. A header covers the locks that it names, those of the functions it says *as* of, and those that it says
 * its caller has. `functions`: by name the body; `headers`: by name what it says of locks, or undefined; `calls`: by name the names it calls; `cascades`:
 * by table the tables whose rows go with its rows.
 */
export function bodyFaults(functions, headers, calls, order, cascades = new Map()) {
  const known = new Map();
  /** What a call of this function locks, by its header. */
  const locksOfCall = (name, path = []) => {
    if (known.has(name)) return known.get(name);
    const said = headers.get(name);
    const locks = new Set();
    if (said !== undefined && !path.includes(name)) {
      if (!said.startsWith("none")) for (const number of numbersIn(said)) locks.add(number);
      for (const [, other] of said.matchAll(/\bas (\w+)/g))
        for (const number of locksOfCall(other, [...path, name])) locks.add(number);
    }
    if (path.length === 0) known.set(name, locks);
    return locks;
  };
  const faults = [];
  for (const [name, body] of functions) {
    const said = headers.get(name);
    const covered = new Set([...locksOfCall(name), ...numbersIn(said ?? "")]);
    const deleted = [...body.matchAll(/\bdelete from fairmill\.(\w+)/g)].flatMap(
      ([, table]) => cascades.get(table) ?? [],
    );
    for (const table of new Set([...tablesLockedBy(body), ...deleted, ...(DYNAMIC[name] ?? [])])) {
      const possible = LOCKS_OF_TABLES[table];
      if (possible && !possible.some((number) => covered.has(number)))
        faults.push([
          name,
          `its body locks rows of ${table}: ${possible.map((n) => `${n} ${order.get(n)}`).join(" or ")}`,
        ]);
    }
    for (const other of calls.get(name)) {
      if (isChoice(headers.get(other)) && [...locksOfCall(other)].some((number) => covered.has(number))) continue;
      for (const number of locksOfCall(other))
        if (!covered.has(number)) faults.push([name, `it calls ${other}, which locks ${number} ${order.get(number)}`]);
    }
  }
  return faults;
}
