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
  let last = 0;
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
  if (faults.length === 0 && last === 0 && !/\bas \w+|^none\b/.test(locks)) faults.push("it names no lock of the list");
  return faults;
}

/** A statement that locks rows which were there before, or waits for them. */
const LOCKING = /\bfor (?:no key )?update\b|\bfor key share\b|\bfor share\b|pg_advisory_xact_lock/;

export const takesLocks = (body) => LOCKING.test(body.replaceAll(/--.*$/gm, ""));
