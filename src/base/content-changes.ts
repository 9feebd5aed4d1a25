// What JSON and PostgreSQL make of a value that is kept, where that is not what it was: for the warning that says so. A handler that returns a Date
// knows that it becomes a text, because its type says so (`Jsonify`); what is reported here is lost.
import { emptiedBy, isBadText } from "./json-content.js";

export interface ContentChange {
  /** Where: "order.lines[3].price"; "" is the value itself. */
  readonly path: string;
  /** What happened there. */
  readonly what: string;
}

/** They stop here: enough to see what is wrong. */
const CHANGES_MAX = 10;
/** Values that contain others again and again are not walked to their end. */
const LOOKS_MAX = 100_000;

/** Never throws: what cannot be read is not kept, and that is reported elsewhere. */
export function changesIn(value: unknown): readonly ContentChange[] {
  const walk: Walk = { changes: [], looks: 0 };
  try {
    look(walk, value, "", "member");
  } catch {}
  return walk.changes;
}

interface Walk {
  readonly changes: ContentChange[];
  looks: number;
}

function look(walk: Walk, value: unknown, path: string, position: "member" | "item"): void {
  if (walk.changes.length >= CHANGES_MAX || ++walk.looks > LOOKS_MAX) return;
  switch (typeof value) {
    case "string":
      if (isBadText(value)) note(walk, path, "NUL or half a surrogate pair was replaced by U+FFFD");
      return;
    case "number":
      if (!Number.isFinite(value)) note(walk, path, `${value} became null`);
      return;
    case "undefined":
      if (position === "item") note(walk, path, "undefined became null");
      return;
    case "function":
    case "symbol":
      return note(walk, path, `a ${typeof value} ${position === "item" ? "became null" : "was left out"}`);
    case "object":
      if (value !== null) lookInto(walk, value, path, position);
  }
}

function lookInto(walk: Walk, value: object, path: string, position: "member" | "item"): void {
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") {
    if (value instanceof Date && Number.isNaN(value.getTime())) return note(walk, path, "an invalid Date became null");
    return look(walk, toJSON.call(value, ""), path, position);
  }
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && walk.changes.length < CHANGES_MAX; i++)
      look(walk, value[i], `${path}[${i}]`, "item");
    return;
  }
  const entries = Object.entries(value);
  const lost = entries.length === 0 ? emptiedBy(value) : undefined;
  if (lost !== undefined) return note(walk, path, `a ${lost} became {}`);
  for (const [key, member] of entries) {
    const at = path === "" ? key : `${path}.${key}`;
    if (isBadText(key)) note(walk, path, "NUL or half a surrogate pair in a key was replaced by U+FFFD");
    look(walk, member, at, "member");
  }
}

function note(walk: Walk, path: string, what: string): void {
  walk.changes.push({ path, what });
}
