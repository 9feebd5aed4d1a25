// Whatever is put into a public call, in place of an argument or of one of its settings: it is taken, or refused by an error of this library. Never a
// TypeError from the depths, and never an error thrown where a promise was promised.
import {
  type Client,
  ConfigError,
  createClient,
  createCodec,
  createWorker,
  defineChannel,
  defineConfig,
  defineFlow,
  defineJob,
  exponential,
  FairmillError,
  fixed,
  handle,
  handleFlow,
  middleware,
  snooze,
} from "fairmill";
import { sendWebhook, verifyWebhook, webhookChannel } from "fairmill/webhooks";
import fc from "fast-check";
import { expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { newSeed } from "../../support/dice.js";
import { IN_TRANSACTION, job, knock, ON_CLIENT, ON_OPEN_BATCH } from "../../support/doors.js";

const db = useDatabase();
const seed = newSeed();
const RUNS = Number(process.env["TEST_HOSTILE_RUNS"] ?? 25);

const SIDE_BY_SIDE = 4;

const fails = (): never => {
  throw new TypeError("hostile");
};

const traps: ProxyHandler<object> = {
  get: fails,
  has: fails,
  ownKeys: fails,
  getPrototypeOf: fails,
  getOwnPropertyDescriptor: fails,
};

const circle: Record<string, unknown> = {};
circle["self"] = circle;

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** An object whose member throws when it is read. */
const thorn = (name: string) => Object.defineProperty({}, name, { enumerable: true, get: fails });

const HOSTILE: readonly unknown[] = [
  null,
  true,
  "",
  "\0",
  "\ud800",
  "__proto__",
  "constructor",
  "x".repeat(10_000),
  Number.NaN,
  Number.POSITIVE_INFINITY,
  -1,
  0.5,
  1e308,
  2 ** 53,
  10n,
  10n ** 40n,
  Symbol("hostile"),
  Object.create(null),
  Object.assign(Object.create(null), { input: {}, kind: "x", limit: 1 }),
  new Proxy({}, traps),
  new Proxy([], traps),
  revoked(),
  thorn("kind"),
  thorn("tenant"),
  thorn("input"),
  thorn("then"),
  { toString: fails, valueOf: fails },
  { toJSON: fails },
  { [Symbol.toPrimitive]: fails },
  circle,
  [],
  [null],
  [Symbol("hostile")],
  new Date(Number.NaN),
  new Map([[1, 2]]),
  new Set([1]),
  () => {},
  Object.freeze({ kind: Symbol("kind"), queue: 5 }),
  { kind: "x" },
  { name: "x", nodes: [] },
  { query: 5 },
];

/** By number: the values themselves would trip the library that throws the dice. */
const hostile = fc.nat(HOSTILE.length - 1);

/** What a call came to: undefined where that is all right. */
async function faultOf(call: () => unknown): Promise<string | undefined> {
  let answer: unknown;
  try {
    answer = call();
  } catch (error) {
    return `threw where a promise was promised: ${told(error)}`;
  }
  try {
    await answer;
    return undefined;
  } catch (error) {
    return isOurs(error) ? undefined : `rejected with ${told(error)}`;
  }
}

const isOurs = (error: unknown) => error instanceof FairmillError && /^FAIRMILL_[A-Z_]+$/.test(error.code);
/** With the line of the sources that it came through. */
const told = (error: unknown) =>
  error instanceof Error
    ? `${error.name}: ${error.message} ${/\(?\S*\/(?:src|dist)\/\S+/.exec(error.stack ?? "")?.[0]}`
    : "no error";

/** The settings that an argument may have: the error for an unknown one names the known ones. */
async function settingsOf(call: (argument: object) => unknown): Promise<string[]> {
  try {
    await call({ "unknown setting": 1 });
  } catch (error) {
    if (error instanceof ConfigError) return / Known: (.+)\.$/.exec(error.message)?.[1]?.split(", ") ?? [];
  }
  return [];
}

interface Door {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly call: (args: readonly unknown[]) => unknown;
}

/** The same call with something hostile in it. */
async function* attacksOn({ args, call }: Door): AsyncGenerator<[what: string, readonly unknown[]]> {
  for (const [i, argument] of args.entries()) {
    for (const value of HOSTILE) yield [`argument ${i}`, args.with(i, value)];
    if (typeof argument !== "object" || argument === null || Array.isArray(argument)) continue;
    for (const setting of await settingsOf((given) => call(args.with(i, { ...argument, ...given }))))
      for (const value of HOSTILE) yield [setting, args.with(i, { ...argument, [setting]: value })];
  }
}

async function faultsAt(door: Door): Promise<string[]> {
  const faults: string[] = [];
  const attacks: [string, readonly unknown[]][] = [];
  for await (const attack of attacksOn(door)) attacks.push(attack);
  const attackNext = async () => {
    for (let next = attacks.pop(); next !== undefined; next = attacks.pop()) {
      const [what, args] = next;
      const fault = await faultOf(() => door.call(args));
      if (fault !== undefined) faults.push(`${door.name}, ${what}: ${fault}`);
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, attackNext));
  return [...new Set(faults)];
}

function doorsOf(client: Client): Door[] {
  const entries = (prefix: string, on: object, doors: Record<string, readonly unknown[]>) =>
    Object.entries(doors).map(([name, args]) => ({
      name: prefix + name,
      args,
      call: (given: readonly unknown[]) => knock(on, name, given),
    }));
  return entries("client.", client, ON_CLIENT).filter(({ name }) => name !== "client.migrate");
}

test("at every door of a client", async () => {
  const client = createClient({ databaseUrl: db.url });
  const faults: string[] = [];
  for (const door of doorsOf(client)) faults.push(...(await faultsAt(door)));
  const batch = await client.batches.open();
  for (const [name, args] of Object.entries(ON_OPEN_BATCH).filter(([name]) => name === "add" || name === "extend"))
    faults.push(...(await faultsAt({ name: `batch.${name}`, args, call: (given) => knock(batch, name, given) })));
  expect(faults.slice(0, 60)).toEqual([]);
  await batch.close();
  await client.close();
});

test("inside a transaction of the caller", async () => {
  const client = createClient({ databaseUrl: db.url });
  const faults: string[] = [];
  for (const [name, args] of Object.entries(IN_TRANSACTION)) {
    const call = async (given: readonly unknown[]) => {
      const tx = await db.pool.connect();
      try {
        await tx.query("begin");
        await knock(client.in(tx), name, given);
      } finally {
        await tx.query("rollback");
        tx.release();
      }
    };
    faults.push(...(await faultsAt({ name: `in(tx).${name}`, args, call })));
  }
  for (const tx of HOSTILE) {
    const fault = await faultOf(async () => client.in(tx as never).credits.balance("acme"));
    if (fault !== undefined) faults.push(`in(…): ${fault}`);
  }
  for (const answer of HOSTILE) {
    const tx = { query: async () => answer } as never;
    // What the driver of the caller throws, or what cannot even be awaited, is the caller's own.
    if ((await faultOf(async () => answer)) !== undefined) continue;
    const fault = await faultOf(() => client.in(tx).enqueue(job, {}));
    if (fault !== undefined) faults.push(`an answer: ${fault}`);
  }
  expect(faults.slice(0, 60)).toEqual([]);
  await client.close();
});

test("at everything that is declared", async () => {
  const flow = defineFlow({ name: "f" }, (nodes) => void nodes.job("n", job, () => ({})));
  const handlers = [handle(job, () => {})];
  const databaseUrl = "postgres://nobody@127.0.0.1:1/nowhere";
  const webhook = { url: "https://example.com", body: "", idempotencyKey: "k", secret: Buffer.alloc(24) };
  const declared: [string, (...args: never[]) => unknown, unknown[]][] = [
    ["createClient", createClient, [{ databaseUrl }]],
    ["createClient.stability", (stability: never) => createClient({ databaseUrl, stability }), [{}]],
    ["createClient.use", (use: never) => createClient({ databaseUrl, use }), [[{ name: "m", run: () => {} }]]],
    ["createWorker", createWorker, [{ databaseUrl, handlers }]],
    ["createCodec", createCodec, [{ keys: { a: Buffer.alloc(32) }, current: "a" }]],
    ["defineJob", defineJob, [{ kind: "k" }]],
    ["defineJob.retry", (retry: never) => defineJob({ kind: "k", retry }), [{}]],
    ["defineJob.limits", (limits: never) => defineJob({ kind: "k", limits }), [{ active: 1 }]],
    ["defineJob.unique", (unique: never) => defineJob({ kind: "k", unique }), [{}]],
    ["defineJob.debounce", (debounce: never) => defineJob({ kind: "k", debounce }), [{ wait: 1 }]],
    ["defineJob.throttle", (throttle: never) => defineJob({ kind: "k", throttle }), [{ per: 1 }]],
    ["defineJob.credits", (credits: never) => defineJob({ kind: "k", credits }), [{ account: () => "a" }]],
    ["defineFlow", defineFlow, [{ name: "f" }, () => {}]],
    ["defineChannel", defineChannel, [{ name: "c", receiver: "neither", send: () => {} }]],
    ["webhookChannel", webhookChannel, [{ name: "c", secret: Buffer.alloc(24) }]],
    ["defineConfig", defineConfig, [{ handlers }]],
    ["handle", handle, [job, () => {}, {}]],
    ["handleFlow", handleFlow, [flow]],
    ["exponential", exponential, [{}]],
    ["fixed", fixed, ["1s"]],
    ["snooze", snooze, ["1s"]],
    ["middleware", middleware, [{ name: "m", run: () => {} }]],
    ["verifyWebhook", verifyWebhook, [{ body: "", headers: {}, secret: Buffer.alloc(24) }]],
    ["sendWebhook", sendWebhook, [{ ...webhook, url: "http://127.0.0.1:1" }]],
  ];
  const faults: string[] = [];
  for (const [name, declare, args] of declared) {
    const call = async (given: readonly unknown[]) => {
      const made = (await (declare as (...args: readonly unknown[]) => unknown)(...given)) as { close?: () => unknown };
      if (name.startsWith("createClient")) await made.close?.();
    };
    faults.push(...(await faultsAt({ name, args, call })));
  }
  expect(faults.slice(0, 60)).toEqual([]);
});

test("two of them at once, anywhere", async () => {
  const client = createClient({ databaseUrl: db.url });
  const doors = doorsOf(client).filter(({ args }) => args.length > 0);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...doors),
      fc.array(fc.tuple(fc.nat(3), hostile), { minLength: 1, maxLength: 3 }),
      async ({ args, call }, changes) => {
        const changed = changes.reduce<readonly unknown[]>(
          (given, [i, value]) => given.with(i % args.length, HOSTILE[value]),
          args,
        );
        expect(await faultOf(() => call(changed))).toBeUndefined();
      },
    ),
    { seed, numRuns: RUNS * 40 },
  );
  await client.close();
});
