// Every public call of a client, by name, with arguments that fit: for tests that must leave none out. `missingDoors` compares the list with the
// classes themselves, so that a new method without an entry fails.
import { type BatchAdder, type Client, defineFlow, defineJob, type JobDefinition, type Queryable } from "fairmill";

export const job: JobDefinition<object> = defineJob<object>({ kind: "door" });
export const limited: JobDefinition<object> = defineJob<object>({ kind: "door.limited", limits: { active: 1_000 } });
const flow = defineFlow({ name: "door" }, (nodes) => void nodes.job("first", job, () => ({})));
/** An id that nothing has. */
const NOBODY = "999999999999999";
const fill = (batch: BatchAdder) => batch.add(limited, {});
const fillPlain = (batch: BatchAdder) => batch.add(job, {});
const cron = { cron: "0 3 * * *", job, input: {} };

/** By name of the method, its arguments. */
type Doors = Record<string, readonly unknown[]>;

export const ON_CLIENT: Doors = {
  migrate: [],
  pendingMigrations: [],
  job: [NOBODY],
  jobs: [{}],
  why: [NOBODY],
  steps: [NOBODY],
  result: [NOBODY, { timeout: 0 }],
  tenants: [{}],
  queues: [{}],
  kinds: [{}],
  outbox: [{}],
  delivery: [NOBODY],
  cancel: [NOBODY],
  retry: [NOBODY, {}],
  previewRedrive: [{}, {}],
  redrive: [{}, {}],
  rerun: [NOBODY, { input: {} }],
  signal: [NOBODY, "go", {}],
  resolveDelivery: [NOBODY, "sent", {}],
  setTenant: ["acme", { maxRunning: 5 }],
  setQueue: ["default", { maxRunning: 5 }],
  setKind: ["door", { maxRunning: 5 }],
  pause: [{ queue: "default" }],
  resume: [{ queue: "default" }],
  enqueue: [limited, {}, {}],
  enqueueMany: [limited, [{ input: {} }, { input: {} }]],
  batch: [{}, fill],
  openBatch: [{}],
  flow: [flow, {}, {}],
  publish: ["door", {}, { idempotencyKey: "k" }],
  schedule: ["nightly", cron],
  unschedule: ["nightly"],
  schedules: [{}],
  nextRuns: [{ cron: "0 3 * * *" }, 1],
  pauseSchedule: ["nightly"],
  resumeSchedule: ["nightly"],
  runSchedule: ["nightly"],
  grant: ["acme", 5, {}],
  balance: ["acme"],
  statement: ["acme", {}],
};

/** Not calls to a database. */
const OTHER_MEMBERS = ["constructor", "in", "close", "begin", "end"];

export const ON_BATCHES: Doors = {
  get: [NOBODY],
  list: [{}],
  wait: [NOBODY, { timeout: 0 }],
  cancel: [NOBODY],
  hold: [NOBODY, {}],
};

export const ON_FLOWS: Doors = {
  get: [NOBODY],
  wait: [NOBODY, { timeout: 0 }],
  cancel: [NOBODY],
  retry: [NOBODY, {}],
};

export const ON_OPEN_BATCH: Doors = {
  add: [limited, {}, {}],
  close: [],
  extend: ["1m"],
  release: [],
};

export const IN_TRANSACTION: Doors = {
  enqueue: [job, {}, {}],
  enqueueMany: [job, [{ input: {} }, { input: {} }]],
  batch: [{}, fillPlain],
  flow: [flow, {}, {}],
  publish: ["door", {}, { idempotencyKey: "k" }],
  signal: [NOBODY, "go", {}],
  grant: ["acme", 5, {}],
  balance: ["acme"],
};

/** Goes through a door. */
export const knock = (on: object, name: string, args: readonly unknown[]): unknown =>
  (on as Record<string, (...args: readonly unknown[]) => unknown>)[name]!(...args);

/** The names of an object's methods, inherited ones included. */
export function methodsOf(of: object): string[] {
  const names = new Set<string>();
  for (let level = of; level !== null && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level)))
      if (typeof value === "function") names.add(name);
  }
  return [...names].toSorted();
}

/** What has a method and no entry, or the other way round. */
export function missingDoors(client: Client, openBatch: object): string[] {
  const nowhere: Queryable = { query: async () => ({ rows: [] }) };
  const lists: [string, object, object][] = [
    ["client", client, ON_CLIENT],
    ["client.batches", client.batches, ON_BATCHES],
    ["client.flows", client.flows, ON_FLOWS],
    ["openBatch", openBatch, ON_OPEN_BATCH],
    ["client.in(tx)", client.in(nowhere), IN_TRANSACTION],
  ];
  return lists.flatMap(([where, of, listed]) => {
    const methods = methodsOf(of).filter((name) => !(of === client ? OTHER_MEMBERS : ["constructor"]).includes(name));
    const entries = Object.keys(listed);
    const alone = [
      ...methods.filter((name) => !entries.includes(name)),
      ...entries.filter((name) => !methods.includes(name)),
    ];
    return alone.map((name) => `${where}.${name}`);
  });
}
