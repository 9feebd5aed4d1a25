// What PostgreSQL can keep as JSON, and what it cannot. Input is refused with the path of the fault; results are cleaned.
import { FairmillError, InputInvalidError, type InputIssue, PayloadTooLargeError } from "./errors.js";
import { reasonOf } from "./settings.js";

export const PAYLOAD_BYTES_MAX = 1024 * 1024;
export const PAYLOAD_DEPTH_MAX = 64;

// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is exactly what is looked for.
const NUL = /\u0000/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: see above.
const SUSPECT = /[\u0000\ud800-\udfff]/;

/** The text without NUL and without lone surrogates, which jsonb refuses. */
export function cleanText(text: string): string {
  return SUSPECT.test(text) ? text.replace(NUL, "\ufffd").toWellFormed() : text;
}

/** Serialises a job's input, or throws: InputInvalidError names the path, PayloadTooLargeError the limit. */
export function serializeInput(kind: string, input: unknown, bytesMax = PAYLOAD_BYTES_MAX): string {
  const value = input === undefined ? {} : input;
  const text = textOf(kind, value, bytesMax);
  const bytes = text.length > bytesMax / 3 ? Buffer.byteLength(text) : text.length;
  if (bytes > bytesMax) throw new PayloadTooLargeError(kind, `${bytes} bytes of JSON where ${bytesMax} are kept`);
  return text;
}

function textOf(kind: string, value: unknown, bytesMax: number): string {
  try {
    return serializePlain(value) ?? serializeInspected(kind, value, bytesMax);
  } catch (error) {
    if (error instanceof FairmillError) throw error;
    // A getter or a proxy of the caller's.
    throw new InputInvalidError(kind, [{ path: "", message: `it cannot be read: ${reasonOf(error)}` }]);
  }
}

/**
 * The JSON of several inputs as one list, at half the price of one by one. Undefined when one of them takes a closer look, or when the
 * list may be longer than this many characters, or one of them than this many bytes.
 */
export function serializePlainList(
  inputs: readonly unknown[],
  charsMax: number,
  bytesMax = PAYLOAD_BYTES_MAX,
): string | undefined {
  try {
    let weight = 0;
    for (const input of inputs) {
      const own = weighPlain(input, 1);
      weight += own;
      if (own > bytesMax / BYTES_PER_WEIGHT || weight > charsMax / BYTES_PER_WEIGHT) return undefined;
    }
    return "toJSON" in inputs ? undefined : textWithoutEscapes(inputs);
  } catch {
    // One of them cannot be read: serialising each by itself finds out which.
    return undefined;
  }
}

/** The JSON of what is surely right, which nearly all input is; undefined when it takes a closer look. */
const serializePlain = (value: unknown): string | undefined =>
  weighPlain(value, 1) > PLAIN_WEIGHT_MAX ? undefined : textWithoutEscapes(value);

/** JSON.stringify writes NUL and half pairs of surrogates as escapes, so one look at the whole text spares one at each text in it. */
function textWithoutEscapes(value: unknown): string | undefined {
  const text = JSON.stringify(value);
  return text.includes("\\u") ? undefined : text;
}

/** What is plain has at most this many bytes of JSON for each unit of its weight, commas included. */
const BYTES_PER_WEIGHT = 3;
/** Input that is heavier may be too large: it is inspected. */
const PLAIN_WEIGHT_MAX = PAYLOAD_BYTES_MAX / BYTES_PER_WEIGHT;
/** The longest number has 25 characters. Whatever is no text weighs as much: an object may be a number in a box. */
const NUMBER_WEIGHT = 9;

/** How heavy the JSON is at most; Infinity for what is no JSON, or needs a closer look. */
function weighPlain(value: unknown, depth: number): number {
  switch (typeof value) {
    case "string":
      return value.length + 1;
    case "number":
      return Number.isFinite(value) ? NUMBER_WEIGHT : Number.POSITIVE_INFINITY;
    case "boolean":
      return NUMBER_WEIGHT;
    case "object":
      break;
    default:
      return Number.POSITIVE_INFINITY;
  }
  if (value === null) return NUMBER_WEIGHT;
  if (depth > PAYLOAD_DEPTH_MAX || "toJSON" in value) return Number.POSITIVE_INFINITY;
  let weight = NUMBER_WEIGHT;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && weight <= PLAIN_WEIGHT_MAX; i++) weight += weighPlain(value[i], depth + 1);
    return weight;
  }
  // Sees what is inherited, too: then the closer look decides at worst. A list of the keys would be garbage.
  for (const key in value) {
    if (key === "__proto__") return Number.POSITIVE_INFINITY;
    const member = (value as Record<string, unknown>)[key];
    if (member !== undefined) weight += key.length + 1 + weighPlain(member, depth + 1);
    if (weight > PLAIN_WEIGHT_MAX) return weight;
  }
  // Asked of those without members only, which are few.
  return weight === NUMBER_WEIGHT && emptiedBy(value) !== undefined ? Number.POSITIVE_INFINITY : weight;
}

function serializeInspected(kind: string, value: unknown, bytesMax: number): string {
  const walk: Walk = { kind, bytesMax, issues: [], charsMin: 0 };
  const text = inspect(walk, value, "", 1) ? undefined : JSON.stringify(value);
  if (walk.issues.length > 0 || text === undefined) throw new InputInvalidError(kind, walk.issues);
  return text;
}

interface Walk {
  readonly kind: string;
  readonly bytesMax: number;
  /** They stop at ten: enough to see what is wrong. */
  readonly issues: InputIssue[];
  /** The JSON of what was seen so far is at least this long. Ends the walk through values that contain others again and again. */
  charsMin: number;
}

/** Walks the value; true when a fault was found. */
function inspect(walk: Walk, value: unknown, path: string, depth: number): boolean {
  const { kind, bytesMax, issues } = walk;
  walk.charsMin += typeof value === "string" ? value.length : 1;
  if (walk.charsMin > bytesMax) throw new PayloadTooLargeError(kind, `more than ${bytesMax} bytes of JSON`);
  switch (typeof value) {
    case "string":
      return isBadText(value) && fault(issues, path, "text with NUL or half a surrogate pair");
    case "number":
      return !Number.isFinite(value) && fault(issues, path, `${value} is not a JSON number`);
    case "boolean":
      return false;
    case "object":
      break;
    case "undefined":
      return fault(issues, path, "undefined is not JSON: leave it out or use null");
    default:
      return fault(issues, path, `a ${typeof value} is not JSON`);
  }
  if (value === null) return false;
  if (depth > PAYLOAD_DEPTH_MAX) throw new PayloadTooLargeError(kind, `nested deeper than ${PAYLOAD_DEPTH_MAX} levels`);
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") {
    let json: unknown;
    try {
      json = (value as { toJSON(): unknown }).toJSON();
    } catch (error) {
      return fault(issues, path, `toJSON failed: ${reasonOf(error)}`);
    }
    return inspect(walk, json, path, depth + 1);
  }

  let bad = false;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      bad = inspect(walk, value[i], `${path}[${i}]`, depth + 1) || bad;
      if (issues.length >= 10) break;
    }
    return bad;
  }
  const keys = Object.keys(value);
  const lost = keys.length === 0 ? emptiedBy(value) : undefined;
  if (lost !== undefined) return fault(issues, path, `a ${lost} is not JSON: it would be stored as {}`);
  for (const key of keys) {
    const at = path === "" ? key : `${path}.${key}`;
    if (key === "__proto__") bad = fault(issues, at, "the key __proto__ is refused") || bad;
    else if (isBadText(key)) bad = fault(issues, path, "a key with NUL or half a surrogate pair") || bad;
    else {
      const member = (value as Record<string, unknown>)[key];
      // JSON.stringify leaves members that are undefined out: so do we.
      if (member !== undefined) bad = inspect(walk, member, at, depth + 1) || bad;
    }
    if (issues.length >= 10) break;
  }
  return bad;
}

/** JSON takes these out of their boxes. */
const BOXES = ["Object", "String", "Number", "Boolean"];

/**
 * What kind of thing this object without members is, when its contents lie where JSON does not look: a Map, a Set, an Error, a Promise that was
 * not awaited. Undefined for plain objects and for classes of the application.
 */
export function emptiedBy(value: object): string | undefined {
  const kind: unknown = Object.getPrototypeOf(value);
  if (kind === Object.prototype || kind === null) return undefined;
  const tag = Object.prototype.toString.call(value).slice("[object ".length, -1);
  return BOXES.includes(tag) ? undefined : tag;
}

export const isBadText = (text: string) => SUSPECT.test(text) && (text.includes("\u0000") || !text.isWellFormed());

function fault(issues: InputIssue[], path: string, message: string): true {
  issues.push({ path, message });
  return true;
}

/** Serialises what a handler returned. Never throws: `undefined` means that there is nothing to keep, `problem` says why. */
export function serializeResult(
  value: unknown,
  bytesMax = PAYLOAD_BYTES_MAX,
): { json: string | undefined; problem?: string } {
  if (value === undefined) return { json: undefined };
  try {
    const json = JSON.stringify(value);
    if (json === undefined) return { json: undefined, problem: `a ${typeof value} is not JSON` };
    if (json.length > bytesMax / 3 && Buffer.byteLength(json) > bytesMax)
      return { json: undefined, problem: `it has more than ${bytesMax} bytes of JSON` };
    if (isTooDeep(json)) return { json: undefined, problem: `it is nested deeper than ${PAYLOAD_DEPTH_MAX} levels` };
    // JSON.stringify writes lone surrogates and NUL as \ud800 and \u0000: both are refused by jsonb.
    return { json: /\\u(?:0000|d[89a-f])/.test(json) ? JSON.stringify(cleanValue(JSON.parse(json))) : json };
  } catch (error) {
    return { json: undefined, problem: reasonOf(error) };
  }
}

/** Whether the JSON is nested deeper than we keep: PostgreSQL refuses what exhausts its stack, and a settle must not fail on that. */
function isTooDeep(json: string): boolean {
  if (json.length <= 2 * PAYLOAD_DEPTH_MAX) return false;
  let depth = 0;
  for (let i = 0; i < json.length; i++) {
    const char = json.charCodeAt(i);
    if (char === QUOTE) {
      do {
        i = json.indexOf('"', i + 1);
      } while (isEscaped(json, i));
    } else if (char === OPEN_LIST || char === OPEN_OBJECT) {
      if (++depth > PAYLOAD_DEPTH_MAX) return true;
    } else if (char === CLOSE_LIST || char === CLOSE_OBJECT) depth--;
  }
  return false;
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

/** A quote after an odd number of backslashes belongs to the text. */
function isEscaped(json: string, at: number): boolean {
  let backslashes = 0;
  while (json.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

function cleanValue(value: unknown): unknown {
  if (typeof value === "string") return cleanText(value);
  if (Array.isArray(value)) return value.map(cleanValue);
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [cleanText(key), cleanValue(member)]));
  return value;
}
