// Every public call of a client, by name, with arguments that fit: for tests that must leave none out. `missingDoors` compares the list with the
// classes themselves, so that a new method without an entry fails.
import {
  type BatchAdder,
  type Client,
  defineCache,
  defineFlow,
  defineJob,
  defineLimit,
  type JobDefinition,
  type Queryable,
} from "fairmill";

export const job: JobDefinition<object> = defineJob<object>({ kind: "door" });
export const limited: JobDefinition<object> = defineJob<object>({ kind: "door.limited", limits: { active: 1_000 } });
const flow = defineFlow({ name: "door" }, (nodes) => void nodes.job("first", job, () => ({})));
const cache = defineCache({ name: "door", ttl: "1h", load: () => 1 });
const tokens = defineLimit("door", { tokens: 1_000, per: "1m" });
const meter = {
  createObservableGauge: () => ({}),
  createObservableCounter: () => ({}),
  addBatchObservableCallback: () => {},
  removeBatchObservableCallback: () => {},
};
/** An id that nothing has. */
const NOBODY = "999999999999999";
const cron = { cron: "0 3 * * *", job, input: {} };

/** By the way to a method from the client, like "schedules.set", its arguments. */
type Doors = Record<string, readonly unknown[]>;

/** What there is over connections of the client and inside a transaction alike. */
const shared = (enqueued: JobDefinition<object>): Doors => ({
  job: [NOBODY],
  why: [NOBODY],
  cancel: [NOBODY],
  retry: [NOBODY, {}],
  signal: [NOBODY, "go", {}],
  pause: [{ queue: "default" }],
  resume: [{ queue: "default" }],
  enqueue: [enqueued, {}, {}],
  enqueueMany: [enqueued, [{ input: {} }, { input: {} }]],
  publish: ["door", {}, { idempotencyKey: "k" }],
  "jobs.list": [{}],
  "jobs.steps": [NOBODY],
  "jobs.logs": [NOBODY, {}],
  "jobs.runNow": [NOBODY],
  "jobs.rerun": [NOBODY, { input: {} }],
  "dead.preview": [{}, {}],
  "dead.redrive": [{}, {}],
  "batches.create": [{}, (batch: BatchAdder) => batch.add(enqueued, {})],
  "batches.open": [{}],
  "batches.get": [NOBODY],
  "batches.list": [{}],
  "batches.cancel": [NOBODY],
  "batches.hold": [NOBODY, {}],
  "flows.start": [flow, {}, {}],
  "flows.get": [NOBODY],
  "flows.list": [{}],
  "flows.cancel": [NOBODY],
  "flows.retry": [NOBODY, {}],
  "schedules.set": ["nightly", cron],
  "schedules.change": ["nightly", { cron: "0 4 * * *" }],
  "schedules.get": ["nightly"],
  "schedules.list": [{}],
  "schedules.next": ["nightly", 1],
  "schedules.pause": ["nightly"],
  "schedules.resume": ["nightly"],
  "schedules.run": ["nightly"],
  "schedules.remove": ["nightly"],
  "outbox.list": [{}],
  "outbox.get": [NOBODY],
  "outbox.resolve": [NOBODY, "sent", {}],
  "budgets.set": [{ tenant: "acme", per: "day", hard: 1 }],
  "budgets.get": [{ tenant: "acme", per: "day" }],
  "budgets.list": [{}],
  "budgets.remove": [{ tenant: "acme", per: "day" }],
  "credits.grant": ["acme", 5, {}],
  "credits.balance": ["acme"],
  "credits.refund": [NOBODY, {}],
  "credits.statement": ["acme", {}],
  "limits.list": [{}],
  "limits.available": [tokens, "k"],
  "limits.use": [tokens, { tokens: 1 }, "k"],
  "limits.reset": [tokens, "k"],
  "providers.list": [],
  "providers.get": ["pixian"],
  "providers.events": ["pixian", {}],
  "providers.costs": [{}],
  "providers.charges": [NOBODY],
  "providers.close": ["pixian", {}],
  "providers.open": ["pixian"],
  "providers.reset": ["pixian"],
  "retention.set": [{ state: "done" }, { keep: "7d" }],
  "retention.remove": [{ state: "done" }],
  "retention.list": [],
  "retention.preview": [{}],
  "tenants.set": ["acme", { maxRunning: 5 }],
  "tenants.get": ["acme"],
  "tenants.erasures": [{}],
  "tenants.erasure": [NOBODY],
  "tenants.list": [{}],
  "queues.set": ["default", { maxRunning: 5 }],
  "queues.get": ["default"],
  "queues.list": [{}],
  "kinds.set": ["door", { maxRunning: 5 }],
  "kinds.get": ["door"],
  "kinds.list": [{}],
});

export const ON_CLIENT: Doors = {
  migrate: [],
  pendingMigrations: [],
  result: [NOBODY, { timeout: 0 }],
  "batches.wait": [NOBODY, { timeout: 0 }],
  "flows.wait": [NOBODY, { timeout: 0 }],
  "tenants.erase": ["door", {}],
  "metrics.figures": [],
  "metrics.prometheus": [{}],
  "metrics.observe": [meter, {}],
  "metrics.record": [[{ name: "door", value: 1 }]],
  "metrics.series": [{ name: "jobs.out", since: new Date(0), until: new Date(60_000) }],
  "cache.get": [cache, "k"],
  "cache.delete": [cache, "k"],
  "cache.clear": [cache],
  "alerts.get": [NOBODY],
  "alerts.list": [{}],
  "alerts.rules": [],
  "alerts.silence": [{ for: "1m" }],
  "alerts.silences": [],
  "alerts.unsilence": [NOBODY],
  ...shared(limited),
};

export const IN_TRANSACTION: Doors = shared(job);

/** Not calls to a database. */
const OTHER_MEMBERS = ["in", "close", "jobs.token"];

export const ON_OPEN_BATCH: Doors = {
  add: [limited, {}, {}],
  close: [],
  extend: ["1m"],
  release: [],
};

/** Goes through a door. */
export function knock(on: object, way: string, args: readonly unknown[]): unknown {
  const [name, verb] = way.split(".") as [string, string?];
  const owner = verb === undefined ? on : (on as Record<string, object>)[name]!;
  return (owner as Record<string, (...args: readonly unknown[]) => unknown>)[verb ?? name]!(...args);
}

/** The names of an object's methods, inherited ones included. */
export function methodsOf(of: object): string[] {
  const names = new Set<string>();
  for (let level = of; level !== null && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level)))
      if (typeof value === "function" && name !== "constructor") names.add(name);
  }
  return [...names].toSorted();
}

/** The ways to all methods of a client: its own, and those of the things in it. */
export function waysIn(client: object): string[] {
  const things = Object.entries(client).filter(([, value]) => typeof value === "object");
  return [
    ...methodsOf(client),
    ...things.flatMap(([name, thing]) => methodsOf(thing).map((verb) => `${name}.${verb}`)),
  ];
}

/** What has a method and no entry, or the other way round. */
export function missingDoors(client: Client, openBatch: object): string[] {
  const nowhere: Queryable = { query: async () => ({ rows: [] }) };
  // By their types they are not there: inside a transaction they refuse.
  const waits = ["batches.wait", "flows.wait", "tenants.erase"];
  const lists: [string, readonly string[], Doors][] = [
    ["client", waysIn(client).filter((way) => !OTHER_MEMBERS.includes(way)), ON_CLIENT],
    [
      "client.in(tx)",
      waysIn(client.in(nowhere)).filter((way) => ![...waits, ...OTHER_MEMBERS].includes(way)),
      IN_TRANSACTION,
    ],
    ["openBatch", methodsOf(openBatch), ON_OPEN_BATCH],
  ];
  return lists.flatMap(([where, methods, listed]) => {
    const entries = Object.keys(listed);
    const alone = [
      ...methods.filter((name) => !entries.includes(name)),
      ...entries.filter((name) => !methods.includes(name)),
    ];
    return alone.map((name) => `${where}.${name}`);
  });
}
