// The type of a value that went through JSON: what is kept of a result, a step or a signal, and comes back. It is a type only; a codec changes nothing
// about it.

/** What comes back of a `T`: dates are texts, what JSON does not know is left out of objects and null in lists. */
export type Jsonify<T> = 0 extends 1 & T
  ? T // any
  : unknown extends T
    ? T
    : T extends { toJSON(): infer Json }
      ? Jsonify<Json>
      : T extends string | number | boolean | null
        ? T // also texts and numbers with a brand
        : T extends Dropped | undefined | void
          ? undefined
          : T extends bigint
            ? never
            : T extends Emptied
              ? Record<string, never>
              : T extends readonly unknown[]
                ? JsonList<T>
                : T extends object
                  ? JsonObject<T>
                  : never;

/** What a job's result is to its reader: a job that returned nothing has the result null. */
export type JobResult<T> = 0 extends 1 & T
  ? T
  : unknown extends T
    ? T
    : T extends undefined | void | Dropped
      ? null
      : Jsonify<T>;

type Dropped = symbol | ((...args: never[]) => unknown);

/** Their contents lie where JSON does not look. */
type Emptied =
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | WeakMap<WeakKey, unknown>
  | WeakSet<WeakKey>
  | PromiseLike<unknown>;

/** Lists and tuples keep their length. */
type JsonList<T extends readonly unknown[]> = { [K in keyof T]: JsonItem<T[K]> };
type JsonItem<T> = 0 extends 1 & T ? T : unknown extends T ? T : T extends Dropped | undefined ? null : Jsonify<T>;

/** Members that may be left out are optional; those that are always left out are gone. */
type JsonObject<T extends object> = Flat<
  { [K in keyof T as KeyIf<T, K, "always">]: Jsonify<T[K]> } & {
    [K in keyof T as KeyIf<T, K, "sometimes">]?: Jsonify<Exclude<T[K], Dropped | undefined>>;
  }
>;

type KeyIf<T, K extends keyof T, When> = K extends symbol ? never : Kept<T, K> extends When ? K : never;
type Kept<T, K extends keyof T> = unknown extends T[K]
  ? IsOptional<T, K>
  : [T[K]] extends [Dropped | undefined]
    ? "never"
    : [Extract<T[K], Dropped | undefined>] extends [never]
      ? IsOptional<T, K>
      : "sometimes";
type IsOptional<T, K extends keyof T> =
  Record<never, never> extends Pick<T, K>
    ? string extends K
      ? "always" // an index signature is no optional member
      : number extends K
        ? "always"
        : "sometimes"
    : "always";

type Flat<T> = { [K in keyof T]: T[K] };
