// The SQL functions keep house rules, too: calls form no cycle and are at most seven deep; public functions (sql/api) carry a version, inner
// ones (sql/inner) none; a function lies in a file of its name; lines have at most 120 columns; and headers tell the truth about locks, by the
// one list of docs/explanation/lock-order.md. A write that fires a trigger counts as a call of its function.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { root } from "./ensure.mjs";
import { bodyFaults, dynamicFaults, lockFaults, locksOf, readLockOrder, takesLocks } from "./lock-order.mjs";
import { firedBy, readCascades, readTriggers, triggerFaults } from "./sql-triggers.mjs";

const DEPTH_MAX = 7;
const COLUMNS_MAX = 120;

const sql = join(root, "sql");
const faults = [];
/** By name: the text without comments, and the names it calls. */
const functions = new Map();
/** By name: file, and what stands before the function. */
const headers = new Map();
for (const floor of ["api", "inner"])
  for (const file of readdirSync(join(sql, floor), { recursive: true })) {
    if (!file.endsWith(".sql")) continue;
    const whole = readFileSync(join(sql, floor, file), "utf8");
    const text = whole.replace(/--.*$/gm, "");
    const created = [...text.matchAll(/create (?:or replace )?function fairmill\.(\w+)/g)].map(([, name]) => name);
    const name = basename(file, ".sql");
    if (created.length !== 1 || created[0] !== name)
      faults.push(`sql/${floor}/${file}: must create the function ${name} and no other`);
    if (/_v\d+$/.test(name) !== (floor === "api"))
      faults.push(
        `sql/${floor}/${file}: ${floor === "api" ? "a public function carries a version (_v1)" : "an inner function carries no version"}`,
      );
    // A migration drops other signatures of a name.
    if (functions.has(name)) faults.push(`sql/${floor}/${file}: ${headers.get(name).file} has this name, too`);
    functions.set(name, text);
    headers.set(name, {
      file: `sql/${floor}/${file}`,
      header: whole.slice(0, whole.indexOf("create or replace function")),
    });
  }

const migrations = readdirSync(join(sql, "migrations")).map((file) => join(sql, "migrations", file));
const made = [...migrations, join(root, "src/db/migrate/migrate.ts")]
  .map((file) => readFileSync(file, "utf8"))
  .join("\n");
const triggers = readTriggers(made);
const cascades = readCascades(made);
faults.push(...triggerFaults(functions, triggers));

const calls = new Map();
for (const [name, text] of functions) {
  const called = [...text.matchAll(/fairmill\.(\w+)\s*\(/g)].map(([, other]) => other).concat(firedBy(text, triggers));
  calls.set(name, new Set(called.filter((other) => other !== name && functions.has(other))));
}

// A function without a version has no callers but ours.
const isCalled = new Set([...calls.values()].flatMap((others) => [...others]));
const source = readdirSync(join(root, "src"), { recursive: true }).filter((file) => file.endsWith(".ts"));
const library = source.map((file) => readFileSync(join(root, "src", file), "utf8")).join("\n");
for (const [name, { file }] of headers)
  if (!isCalled.has(name) && !/_v\d+$/.test(name) && !library.includes(`fairmill.${name}(`))
    faults.push(`${file}: nothing calls it`);

/** The longest chain of calls that begins with this function; a cycle is a fault. */
const chains = new Map();
function chainOf(name, path = []) {
  if (path.includes(name)) {
    faults.push(`call cycle: ${[...path.slice(path.indexOf(name)), name].join(" → ")}`);
    return [name];
  }
  const known = chains.get(name);
  if (known) return known;
  let longest = [];
  for (const other of calls.get(name)) {
    const chain = chainOf(other, [...path, name]);
    if (chain.length > longest.length) longest = chain;
  }
  const chain = [name, ...longest];
  chains.set(name, chain);
  return chain;
}
for (const name of functions.keys()) {
  const chain = chainOf(name);
  if (chain.length > DEPTH_MAX) faults.push(`calls ${chain.length} deep: ${chain.join(" → ")}`);
}

const order = readLockOrder(readFileSync(join(root, "docs/explanation/lock-order.md"), "utf8"));
for (const [name, { file, header }] of headers) {
  const locks = locksOf(header);
  if (locks !== undefined)
    faults.push(...lockFaults(locks, order, functions).map((fault) => `${file}: Locks: ${fault}`));
  if ((locks === undefined || locks.startsWith("none")) && takesLocks(functions.get(name)))
    faults.push(`${file}: it takes locks, and its header names none (Locks: …)`);
}

// The header of a public function is what SQL users read first.
for (const [name, { file, header }] of headers) {
  if (!/_v\d+$/.test(name)) continue;
  if (locksOf(header) === undefined) faults.push(`${file}: its header does not say what it locks (Locks: none)`);
  if (!/\b(?:Result|[Rr]eturns|[Aa]nswers?)\b/.test(header) && !/\breturns void\b/.test(functions.get(name)))
    faults.push(`${file}: its header does not say what it returns (Result: …)`);
}

for (const [name, fault] of dynamicFaults(functions)) faults.push(`${headers.get(name).file}: ${fault}`);

const said = new Map([...headers].map(([name, { header }]) => [name, locksOf(header)]));
for (const [name, fault] of bodyFaults(functions, said, calls, order, cascades))
  faults.push(`${headers.get(name).file}: Locks: ${fault}, and its header does not say so`);

for (const file of readdirSync(sql, { recursive: true })) {
  if (!file.endsWith(".sql")) continue;
  const lines = readFileSync(join(sql, file), "utf8").split("\n");
  for (const [i, line] of lines.entries())
    if (line.length > COLUMNS_MAX)
      faults.push(`sql/${file}:${i + 1}: ${line.length} columns, more than ${COLUMNS_MAX}`);
}

if (faults.length > 0) {
  console.error([...new Set(faults)].join("\n"));
  process.exit(1);
}
const deepest = Math.max(...[...chains.values()].map((chain) => chain.length));
console.log(
  `SQL directions: ${functions.size} functions and ${triggers.length} trigger, at most ${deepest} deep, no fault.`,
);
