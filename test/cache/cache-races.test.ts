// Looks at a cache that overlap: one load for all of them, and nothing that was just forgotten comes back.
import { type Client, createClient, defineCache } from "fairmill";
import { afterEach, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { TcpProxy } from "../support/tcp-proxy.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const clients: Client[] = [];
const clientAt = (databaseUrl: string) => {
  const made = createClient({ databaseUrl });
  clients.push(made);
  return made;
};
const releases: (() => void)[] = [];
afterEach(async () => {
  // Also after a failure: a load that is held would keep its client from closing.
  for (const release of releases.splice(0)) release();
  await Promise.all(clients.splice(0).map((each) => each.close()));
});

/** A cache of one process, whose loads are counted, and held until they are released. */
function heldCache(by: string) {
  let loads = 0;
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  releases.push(release);
  const load = async () => {
    const value = `${by} ${++loads}`;
    await released;
    return value;
  };
  const cache = defineCache<string>({ name: "styles", ttl: "1h", memoryFor: "1h", load });
  return { cache, release, loads: () => loads };
}

test("while one process loads, callers of another one wait for its value and load nothing themselves", async () => {
  const [one, other] = [heldCache("one"), heldCache("other")];
  const proxy = await TcpProxy.before(db.url);
  const [loading, waiting] = [clientAt(db.url), clientAt(proxy.url)];
  const first = loading.cache.get(one.cache, "all");
  await waitUntil("one loads", () => one.loads() === 1);
  const others = [waiting.cache.get(other.cache, "all"), waiting.cache.get(other.cache, "all")];
  const asked = () => proxy.statements.filter(({ text }) => text.includes("take_cached_v1")).length;
  // Its second look: the first one has been answered, and it did not load.
  await waitUntil("the other has looked twice, or loads", () => asked() >= 2 || other.loads() > 0);
  expect(other.loads()).toBe(0);
  one.release();
  expect(await Promise.all([first, ...others])).toEqual(["one 1", "one 1", "one 1"]);
  expect([one.loads(), other.loads()]).toEqual([1, 0]);
});

test("callers of one process share one look", async () => {
  const { cache, release, loads } = heldCache("one");
  const proxy = await TcpProxy.before(db.url);
  const asking = clientAt(proxy.url);
  const asked = [1, 2, 3].map(() => asking.cache.get(cache, "all"));
  await waitUntil("one loads", () => loads() === 1);
  release();
  expect(await Promise.all(asked)).toEqual(["one 1", "one 1", "one 1"]);
  expect(proxy.statements.filter(({ text }) => text.includes("take_cached_v1"))).toHaveLength(1);
});

test.each([
  ["deleted", (client: Client, cache: ReturnType<typeof heldCache>["cache"]) => client.cache.delete(cache, "all")],
  ["cleared", (client: Client, cache: ReturnType<typeof heldCache>["cache"]) => client.cache.clear(cache)],
])("a look that is under way when its entry is %s does not bring the old value back", async (_, forget) => {
  const { cache, release } = heldCache("one");
  release();
  await clientAt(db.url).cache.get(cache, "all");
  // A process that has nothing in memory: its look finds the entry, and the answer is slow to arrive.
  const proxy = await TcpProxy.before(db.url);
  const asking = clientAt(proxy.url);
  await asking.cache.get(cache, "another");
  const held = proxy.holdAnswerTo("take_cached_v1");
  const old = asking.cache.get(cache, "all");
  await held.caught;
  await forget(asking, cache);
  held.pass();
  expect(await old).toBe("one 1");
  expect(await asking.cache.get(cache, "all")).toBe("one 3");
});

test("a look that begins behind a delete does not share one that began before it", async () => {
  const { cache, release, loads } = heldCache("one");
  const asking = clientAt(db.url);
  const before = asking.cache.get(cache, "all");
  await waitUntil("one loads", () => loads() === 1);
  await asking.cache.delete(cache, "all");
  const behind = asking.cache.get(cache, "all");
  release();
  expect(await Promise.all([before, behind])).toEqual(["one 1", "one 2"]);
  expect(await asking.cache.get(cache, "all")).toBe("one 2");
});
