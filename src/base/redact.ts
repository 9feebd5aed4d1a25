// Redaction: what must not be shown, named by key or by path, put out of sight wherever contents of a job are shown or logged.
//
//  "password"        a member of this name, at any depth
//  "user.email"      this path from the top; lists on the way are passed through
//  "*.token"         any one member, then this name
//  "cards.**"        everything below
//
// Names are compared without regard to case. What was put out of sight in one place is looked for in texts beside it (errors, messages).
import { ConfigError } from "./errors.js";
import { showValue } from "./show-value.js";

export const REDACTED = "[redacted]";

/** Deeper values are not looked into: they are put out of sight as a whole. */
const DEPTH_MAX = 64;
const PATTERNS_MAX = 200;
/** Shorter values occur in texts by chance. */
const SECRET_CHARS_MIN = 4;
const SECRETS_MAX = 200;

export interface Redactor {
  /** A copy without what the patterns name; the value itself where nothing is named. */
  value<T>(value: T): T;
  /** The texts that `value` would put out of sight, to be looked for elsewhere. */
  secretsIn(value: unknown): readonly string[];
  /** Whether any pattern is given. */
  readonly isActive: boolean;
}

type Segments = readonly string[];

/** Throws where a pattern is none. */
export function checkRedact(patterns: unknown, where: string): readonly string[] {
  if (patterns === undefined) return [];
  if (!Array.isArray(patterns) || patterns.length > PATTERNS_MAX)
    throw new ConfigError(
      "redact",
      `${where}: redact must be a list of at most ${PATTERNS_MAX} keys or paths, like ["password", "user.email"].`,
    );
  for (const pattern of patterns)
    if (typeof pattern !== "string" || pattern.length > 500 || pattern.split(".").some((segment) => segment === ""))
      throw new ConfigError(
        "redact",
        `${where}: redact: ${showValue(pattern)} is no key or path, like "password" or "user.email".`,
      );
  return patterns as string[];
}

export function createRedactor(patterns: readonly string[]): Redactor {
  const keys = new Set<string>();
  const paths: Segments[] = [];
  for (const pattern of patterns.map((one) => one.toLowerCase())) {
    if (pattern.includes(".") || pattern.includes("*")) paths.push(pattern.split("."));
    else keys.add(pattern);
  }
  const isActive = patterns.length > 0;
  const walk = (value: unknown, onSecret?: (secret: unknown) => void) =>
    redactIn(value, paths, { keys, onSecret, depth: 0 });
  return {
    isActive,
    value: <T>(value: T) => (isActive ? (walk(value) as T) : value),
    secretsIn: (value) => {
      if (!isActive) return [];
      const secrets = new Set<string>();
      walk(value, (secret) => collect(secret, secrets, 0));
      return [...secrets];
    },
  };
}

interface Walk {
  readonly keys: ReadonlySet<string>;
  readonly onSecret: ((secret: unknown) => void) | undefined;
  readonly depth: number;
}

/** `paths`: what is left of those that have matched so far. */
function redactIn(value: unknown, paths: readonly Segments[], walk: Walk): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (walk.depth > DEPTH_MAX) return REDACTED;
  const deeper = { ...walk, depth: walk.depth + 1 };
  if (Array.isArray(value)) {
    // A list is passed through, and its positions may also be meant by a star.
    const left = [...paths, ...paths.flatMap((path) => behind(path, "*"))];
    const isNamed = paths.some((path) => ends(path, "*"));
    return value.map((one) => (isNamed ? hide(one, walk) : redactIn(one, left, deeper)));
  }
  const copy: Record<string, unknown> = Object.create(null);
  for (const [name, member] of Object.entries(value)) {
    const key = name.toLowerCase();
    const isNamed = walk.keys.has(key) || paths.some((path) => ends(path, key));
    copy[name] = isNamed
      ? hide(member, walk)
      : redactIn(
          member,
          paths.flatMap((path) => behind(path, key)),
          deeper,
        );
  }
  // A member called __proto__ is one like others.
  return Object.setPrototypeOf(copy, Object.prototype) as unknown;
}

function hide(value: unknown, { onSecret }: Walk): typeof REDACTED {
  onSecret?.(value);
  return REDACTED;
}

const fits = (segment: string, key: string) => segment === "*" || segment === key;

/** The path names this member itself. */
const ends = (path: Segments, key: string): boolean =>
  (path.length === 1 && (path[0] === "**" || fits(path[0]!, key))) ||
  (path.length > 1 && path[0] === "**" && ends(path.slice(1), key));

/** What is left of the path below this member. */
function behind(path: Segments, key: string): Segments[] {
  if (path[0] === "**") return [path, ...behind(path.slice(1), key)];
  return path.length > 1 && fits(path[0]!, key) ? [path.slice(1)] : [];
}

function collect(value: unknown, secrets: Set<string>, depth: number): void {
  if (secrets.size >= SECRETS_MAX || depth > DEPTH_MAX) return;
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value);
    if (text.length >= SECRET_CHARS_MIN) secrets.add(text);
  } else if (typeof value === "object" && value !== null)
    for (const member of Object.values(value)) collect(member, secrets, depth + 1);
}

/** The value with every text in it without these secrets: for errors and messages, where nothing has a path. */
export function withoutSecrets<T>(value: T, secrets: readonly string[], depth = 0): T {
  if (secrets.length === 0) return value;
  if (typeof value === "string") {
    let text: string = value;
    // The longest first: one may be part of another.
    for (const secret of secrets.toSorted((a, b) => b.length - a.length)) text = text.replaceAll(secret, REDACTED);
    return text as T;
  }
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (depth > DEPTH_MAX) return REDACTED as T;
  if (Array.isArray(value)) return value.map((one) => withoutSecrets(one, secrets, depth + 1)) as T;
  const copy: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value))
    Object.defineProperty(copy, name, {
      value: withoutSecrets(member, secrets, depth + 1),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  return copy as T;
}
