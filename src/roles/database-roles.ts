// The roles of the database: what each may call, and exactly the rights on tables that these calls need. Functions run with the rights of their caller,
// so the rights are read from their texts: what a role can reach, it may do, and nothing else.
import { readShipped, type Shipped } from "../db/migrate/shipped.js";
import { checkSchemaName, qualify } from "../db/schema-name.js";

export const DATABASE_ROLES = ["enqueue", "worker", "viewer", "admin"] as const;
export type DatabaseRole = (typeof DATABASE_ROLES)[number];

const ENQUEUES = [
  "enqueue_v1",
  "enqueue_many_v1",
  "enqueue_payloads_v1",
  "enqueue_one_v1",
  "wake_v1",
  "wake_lane_v1",
  "publish_v1",
  "publish_many_v1",
  "set_key_limits_v1",
  "report_key_limits_v1",
  "define_limit_v1",
];
/** By shelf: everything in it is a worker's. Those that steer are not: limits, credits, bulk, audit. */
const WORKS = [
  ...["batches", "cache", "claim", "enqueue", "outbox", "schedules", "settle", "steps", "upkeep", "worker"],
  ...["intervals", "logs", "metrics", "offload", "pool", "ticks"],
];
const WORKER_ALSO = [
  "cancel_v1",
  "retry_v1",
  "set_key_limits_v1",
  "report_key_limits_v1",
  "define_limit_v1",
  "use_v1",
  "balance_v1",
  "why_v1",
  "queues_v1",
  // A worker carries on what a person began and whose process has gone.
  "step_bulk_v1",
  ...["declare_retention_v1", "define_providers_v1", "sync_provider_v1", "charge_calls_v1", "providers_v1"],
];

/** Tables that are read by statements of the library, beside what functions read. */
const READS: Record<DatabaseRole, "all" | "work" | readonly string[]> = {
  enqueue: ["schema_state"],
  worker: "work",
  viewer: "all",
  admin: "all",
};
/** Tables that are written by statements of the library: one worker evaluates alerts, and a person silences them. */
const EVALUATES = ["alert_round", "alert_rule", "alert", "alert_event"];
const WRITES: Record<DatabaseRole, readonly string[]> = {
  enqueue: [],
  worker: EVALUATES,
  viewer: [],
  admin: [...EVALUATES, "alert_silence"],
};
/** What people did is no worker's business. */
const OF_PEOPLE = new Set(["audit_event", "bulk_action"]);

export type TableRight = "SELECT" | "INSERT" | "UPDATE" | "DELETE";

export interface RoleRights {
  readonly functions: ReadonlySet<string>;
  readonly tables: ReadonlyMap<string, ReadonlySet<TableRight>>;
  readonly sequences: ReadonlyMap<string, ReadonlySet<"USAGE" | "SELECT">>;
}

interface SqlFunction {
  readonly name: string;
  /** Without comments and without texts in quotes: a hint may name a function that is not called. */
  readonly text: string;
  readonly sequences: readonly string[];
  readonly isPublic: boolean;
  /** It writes nothing. */
  readonly isReader: boolean;
  /** It runs with its owner's rights: what it calls and touches is not the caller's. */
  readonly isOwners: boolean;
}

const functionsOf = (shipped: Shipped): Map<string, SqlFunction> =>
  new Map(
    shipped.functions.map((piece) => {
      const name = piece.name.slice("functions/".length);
      const code = piece.text.replaceAll(/--.*$/gm, "");
      const sequences = [...code.matchAll(/nextval\('fairmill\.(\w+)'/g)].map(([, sequence]) => sequence!);
      const text = code.replaceAll(/'(?:[^']|'')*'/g, "''");
      const isReader = /^language \w+ (stable|immutable)/m.test(text);
      return [
        name,
        { name, text, sequences, isPublic: /_v\d+$/.test(name), isReader, isOwners: /security definer/.test(text) },
      ];
    }),
  );

const TABLE = /create (?:unlogged )?(table|view) fairmill\.(\w+)/g;

/** Tables and views that the migrations make. */
const relationsOf = (shipped: Shipped): string[] =>
  [...new Set(shipped.migrations.flatMap(({ text }) => [...text.matchAll(TABLE)].map(([, , name]) => name!)))]
    .concat("migration", "schema_state")
    .filter((name, n, all) => all.indexOf(name) === n && !name.startsWith("job_history_"))
    .toSorted();

function entriesOf(
  role: DatabaseRole,
  all: ReadonlyMap<string, SqlFunction>,
  shelves: ReadonlyMap<string, string>,
): string[] {
  const names = [...all.values()].filter(({ isPublic }) => isPublic);
  if (role === "admin") return names.map(({ name }) => name);
  if (role === "viewer") return names.filter(({ isReader }) => isReader).map(({ name }) => name);
  if (role === "enqueue") return ENQUEUES;
  return names
    .filter(({ name }) => WORKS.includes(shelves.get(name) ?? ""))
    .map(({ name }) => name)
    .concat(WORKER_ALSO);
}

/** Readers that statements of the library call by themselves. */
const INNER_READERS = ["claimed_jobs", "rate_room", "levels", "rate_words", "bulk_states", "pick_jobs"];

function reachable(entries: readonly string[], all: ReadonlyMap<string, SqlFunction>): Set<string> {
  const seen = new Set<string>();
  const visit = (name: string): void => {
    const found = all.get(name);
    if (found === undefined || seen.has(name)) return;
    seen.add(name);
    if (found.isOwners) return;
    for (const [, called] of found.text.matchAll(/fairmill\.(\w+)/g)) visit(called!);
  };
  for (const name of entries) visit(name);
  return seen;
}

function rightsIn(texts: readonly string[], relations: readonly string[]): Map<string, Set<TableRight>> {
  const tables = new Map<string, Set<TableRight>>();
  const add = (table: string, ...rights: readonly TableRight[]) => {
    if (!relations.includes(table)) return;
    const known = tables.get(table) ?? new Set();
    for (const right of rights) known.add(right);
    tables.set(table, known);
  };
  for (const text of texts) {
    for (const [, table] of text.matchAll(/fairmill\.(\w+)/g)) add(table!, "SELECT");
    for (const [, table] of text.matchAll(/insert into fairmill\.(\w+)/g)) {
      add(table!, "INSERT");
      if (/on conflict[\s\S]*?do update/.test(text)) add(table!, "UPDATE");
    }
    for (const [, table] of text.matchAll(/\bupdate fairmill\.(\w+)/g)) add(table!, "UPDATE");
    for (const [, table] of text.matchAll(/delete from fairmill\.(\w+)/g)) add(table!, "DELETE");
    // Locking a row needs the right to change it.
    if (/for (no key update|update|key share|share)\b/.test(text))
      for (const [, table] of text.matchAll(/(?:from|join) fairmill\.(\w+)/g)) add(table!, "UPDATE");
  }
  return tables;
}

/** Views cannot be locked, and what is written once is never changed. */
const NEVER_CHANGED = new Set([
  "credit_entry",
  "key_limit_in_force",
  "limit_in_force",
  "channel_outbox",
  "migration",
  "schema_state",
]);

export async function rightsOf(role: DatabaseRole): Promise<RoleRights> {
  const shipped = await readShipped();
  const all = functionsOf(shipped);
  const relations = relationsOf(shipped);
  const functions = reachable(entriesOf(role, all, await shelvesOf()), all);
  if (role !== "enqueue") for (const name of reachable(INNER_READERS, all)) functions.add(name);
  // The index of lanes calls it for every job that is written; a migration made it.
  const own = [...functions].map((name) => all.get(name)!).filter(({ isOwners }) => !isOwners);
  functions.add("level_v1");
  const tables = rightsIn(
    own.map(({ text }) => text),
    relations,
  );
  const reads = READS[role];
  for (const table of reads === "all"
    ? relations
    : reads === "work"
      ? relations.filter((name) => !OF_PEOPLE.has(name))
      : reads)
    tables.set(table, new Set([...(tables.get(table) ?? []), "SELECT"]));
  for (const table of WRITES[role])
    tables.set(table, new Set([...(tables.get(table) ?? []), "INSERT", "UPDATE", "DELETE"]));
  for (const [table, rights] of tables) {
    const isReading = role === "viewer";
    if (isReading || NEVER_CHANGED.has(table)) rights.delete("UPDATE");
    if (isReading) for (const right of ["INSERT", "DELETE"] as const) rights.delete(right);
  }
  const sequences = new Map<string, Set<"USAGE" | "SELECT">>();
  for (const name of own.flatMap((one) => one.sequences)) sequences.set(name, new Set(["USAGE"]));
  // Which job is the newest.
  if (role !== "enqueue") sequences.set("job_id_seq", new Set([...(sequences.get("job_id_seq") ?? []), "SELECT"]));
  return { functions, tables, sequences };
}

const SHELF = new URL("../../sql/api/", import.meta.url);

async function shelvesOf(): Promise<Map<string, string>> {
  const { readdir } = await import("node:fs/promises");
  const files = await readdir(SHELF, { recursive: true });
  return new Map(
    files
      .map((file) => file.replaceAll("\\", "/").split("/"))
      .filter((parts) => parts.length === 2 && parts[1]!.endsWith(".sql"))
      .map(([shelf, file]) => [file!.slice(0, -".sql".length), shelf!]),
  );
}

const list = (names: Iterable<string>) =>
  [...names]
    .toSorted()
    .map((name) => `fairmill.${name}`)
    .join(", ");

/** The script: makes what is missing, takes away what a role has, and grants what it needs. Safe to run after every migration. */
export async function rolesScript(options: { readonly schema: string; readonly prefix: string }): Promise<string> {
  const schema = checkSchemaName(options.schema);
  const prefix = checkSchemaName(options.prefix);
  const parts = [
    "-- Roles of Fairmill, without a login: grant them to your users, like: grant fairmill_worker to my_app;\n-- Run it as the owner of the schema, again after every migration.\nbegin;",
  ];
  for (const role of DATABASE_ROLES) {
    const name = `${prefix}_${role}`;
    const { functions, tables, sequences } = await rightsOf(role);
    parts.push(
      `\n-- ${name}`,
      `do $$ begin create role ${name} nologin; exception when duplicate_object then null; end $$;`,
      `revoke all on all tables in schema fairmill from ${name};`,
      `revoke all on all sequences in schema fairmill from ${name};`,
      `revoke all on all functions in schema fairmill from ${name};`,
      `grant usage on schema fairmill to ${name};`,
      `grant execute on function ${list(functions)} to ${name};`,
    );
    const byRights = new Map<string, string[]>();
    for (const [table, rights] of tables) {
      const words = [...rights].toSorted().join(", ").toLowerCase();
      if (words !== "") byRights.set(words, [...(byRights.get(words) ?? []), table]);
    }
    for (const [words, group] of byRights) parts.push(`grant ${words} on ${list(group)} to ${name};`);
    for (const [sequence, rights] of sequences)
      parts.push(
        `grant ${[...rights].toSorted().join(", ").toLowerCase()} on sequence fairmill.${sequence} to ${name};`,
      );
  }
  parts.push("commit;");
  return `${qualify(parts.join("\n"), schema)}\n`;
}
