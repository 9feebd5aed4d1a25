// What comes in and what goes out, described once: a schema checks a value, says what is wrong with it by its path, and is written down as JSON Schema
// for the OpenAPI document. Small on purpose: the shapes of this API and nothing else.
import { distance } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import { parseIso } from "../base/time.js";

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Issue {
  /** Where: "filter.state", empty for the whole. */
  readonly path: string;
  readonly message: string;
}

export interface Schema<T> {
  readonly json: JsonSchema;
  readonly isOptional?: boolean;
  /** The value as it is used. What is wrong is added to the issues; the result then means nothing. */
  check(value: unknown, path: string, issues: Issue[]): T;
}

export type Infer<S> = S extends Schema<infer T> ? T : never;

type OptionalKeys<Shape> = { [K in keyof Shape]: Shape[K] extends { isOptional: true } ? K : never }[keyof Shape];
type ObjectOf<Shape> = { readonly [K in Exclude<keyof Shape, OptionalKeys<Shape>>]: Infer<Shape[K]> } & {
  readonly [K in OptionalKeys<Shape>]?: Infer<Shape[K]>;
};

/** Shapes that have a name in the OpenAPI document, by it. */
export const NAMED = new Map<string, JsonSchema>();

/** Gives a shape its name: where it is used, the document points at it. */
export function named<T>(name: string, schema: Schema<T>): Schema<T> {
  NAMED.set(name, schema.json);
  return { ...schema, json: { $ref: `#/components/schemas/${name}` } };
}

const fault = (path: string, message: string, issues: Issue[]): never => {
  issues.push({ path, message });
  return undefined as never;
};
const say = (value: unknown) => showValue(value);

const simple = <T>(json: JsonSchema, fits: (value: unknown) => boolean, what: string): Schema<T> => ({
  json,
  check: (value, path, issues) => (fits(value) ? (value as T) : fault(path, `${say(value)} is not ${what}`, issues)),
});

export const anyJson: Schema<unknown> = { json: {}, check: (value) => value };
export const boolean = simple<boolean>({ type: "boolean" }, (v) => typeof v === "boolean", "true or false");
export const number = simple<number>(
  { type: "number" },
  (v) => typeof v === "number" && Number.isFinite(v),
  "a number",
);
/** What the server writes about its own rows. */
export const text = simple<string>({ type: "string" }, (v) => typeof v === "string", "a text");

export const integer = (min: number, max: number): Schema<number> =>
  simple(
    { type: "integer", minimum: min, maximum: max },
    (v) => Number.isInteger(v) && (v as number) >= min && (v as number) <= max,
    `a whole number from ${min} to ${max}`,
  );

const isKeepable = (value: unknown): value is string =>
  typeof value === "string" && !value.includes("\0") && value.isWellFormed();

/** A text that PostgreSQL can keep. */
export const boundedText = (min: number, max: number): Schema<string> =>
  simple(
    { type: "string", minLength: min, maxLength: max },
    (v) => isKeepable(v) && v.length >= min && v.length <= max,
    `a text of ${min} to ${max} characters`,
  );

/** Names of queues, kinds, tenants: 1 to 200 bytes. */
export const name: Schema<string> = simple(
  { type: "string", minLength: 1, maxLength: 200 },
  (v) => isKeepable(v) && v.length >= 1 && Buffer.byteLength(v) <= 200,
  "a name of 1 to 200 bytes",
);

export const id: Schema<string> = simple(
  { type: "string", pattern: "^[0-9]{1,18}$" },
  (v) => typeof v === "string" && /^\d{1,18}$/.test(v),
  "an id: ids are whole numbers, written as texts",
);

export const time: Schema<string> = simple(
  { type: "string", format: "date-time" },
  (v) => typeof v === "string" && Number.isFinite(parseIso(v)?.getTime() ?? Number.NaN),
  'a time with its zone, like "2030-01-31T09:00:00Z"',
);

export const duration: Schema<string | number> = simple(
  {
    oneOf: [
      { type: "string", pattern: "^[0-9]+(\\.[0-9]+)?\\s*(ms|s|m|h|d)$" },
      { type: "number", minimum: 0 },
    ],
  },
  (v) =>
    (typeof v === "number" && Number.isFinite(v) && v >= 0) ||
    (typeof v === "string" && /^\d{1,15}(\.\d{1,9})?\s*(ms|s|m|h|d)$/.test(v)),
  'a duration, like "30s" or a number of milliseconds',
);

export const oneOf = <const T extends string>(...known: readonly T[]): Schema<T> =>
  simple({ type: "string", enum: known }, (v) => known.includes(v as T), `one of ${known.join(", ")}`);

export const nullable = <T>(schema: Schema<T>): Schema<T | null> => ({
  json: { anyOf: [schema.json, { type: "null" }] },
  check: (value, path, issues) => (value === null ? null : schema.check(value, path, issues)),
});

export const optional = <T>(schema: Schema<T>): Schema<T> & { readonly isOptional: true } => ({
  ...schema,
  isOptional: true,
});

export const list = <T>(schema: Schema<T>, max = Number.MAX_SAFE_INTEGER): Schema<readonly T[]> => ({
  json: { type: "array", items: schema.json, ...(max < Number.MAX_SAFE_INTEGER && { maxItems: max }) },
  check: (value, path, issues) => {
    if (!Array.isArray(value) || value.length > max)
      return fault(path, `${say(value)} is not a list${max < 1e9 ? ` of at most ${max}` : ""}`, issues);
    return value.map((one, n) => schema.check(one, `${path}[${n}]`, issues));
  },
});

/** One of them, or a list of them. */
export const oneOrMore = <T>(schema: Schema<T>): Schema<T | readonly T[]> => ({
  json: { anyOf: [schema.json, { type: "array", items: schema.json }] },
  check: (value, path, issues) =>
    Array.isArray(value) ? list(schema, 100).check(value, path, issues) : schema.check(value, path, issues),
});

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Any object: what it holds is the caller's. */
export const record: Schema<Readonly<Record<string, unknown>>> = simple({ type: "object" }, isPlain, "an object");

/** Members that it does not know are refused by name. */
export function object<Shape extends Record<string, Schema<unknown>>>(shape: Shape): Schema<ObjectOf<Shape>> {
  const known = Object.keys(shape);
  const required = known.filter((key) => !shape[key]!.isOptional);
  return {
    json: {
      type: "object",
      properties: Object.fromEntries(known.map((key) => [key, shape[key]!.json])),
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    },
    check: (value, path, issues) => {
      if (!isPlain(value)) return fault(path, `${say(value)} is not an object`, issues);
      const inner = (key: string) => (path === "" ? key : `${path}.${key}`);
      for (const key of Object.keys(value))
        if (!Object.hasOwn(shape, key))
          issues.push({ path: inner(key.slice(0, 100)), message: `unknown.${hint(key, known)}` });
      const checked: Record<string, unknown> = {};
      for (const key of known) {
        const given = Object.hasOwn(value, key) ? value[key] : undefined;
        if (given === undefined) {
          if (!shape[key]!.isOptional) issues.push({ path: inner(key), message: "is missing" });
        } else checked[key] = shape[key]!.check(given, inner(key), issues);
      }
      return checked as ObjectOf<Shape>;
    },
  };
}

function hint(key: string, known: readonly string[]): string {
  const near = known.toSorted((a, b) => distance(key.slice(0, 50), a) - distance(key.slice(0, 50), b))[0];
  const meant = near !== undefined && distance(key.slice(0, 50), near) <= 3 ? ` Did you mean "${near}"?` : "";
  return `${meant} Known: ${known.join(", ")}`;
}

/** Of a query: whole numbers come as texts. */
export const integerText = (min: number, max: number): Schema<number> => ({
  json: integer(min, max).json,
  check: (value, path, issues) =>
    typeof value === "string" && /^-?\d{1,15}$/.test(value)
      ? integer(min, max).check(Number(value), path, issues)
      : fault(path, `${say(value)} is not a whole number from ${min} to ${max}`, issues),
});

export const checked = <T>(schema: Schema<T>, value: unknown): { value: T; issues: Issue[] } => {
  const issues: Issue[] = [];
  return { value: schema.check(value, "", issues), issues: issues.slice(0, 20) };
};
