// B13, caches: one load for the whole fleet, fresh for their time, bounded, and honest when loading fails or an entry is forgotten meanwhile.
import { afterEach, describe, expect, test } from "vitest";
import { type Client, createClient, defineCache } from "../../src/index.js";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const clients: Client[] = [];
const client = () => {
  const made = createClient({ databaseUrl: db.url });
  clients.push(made);
  return made;
};
afterEach(async () => {
  await Promise.all(clients.splice(0).map((each) => each.close()));
});

/** A cache that counts its loads, of which each waits for a permit when `isHeld`. */
function counting(options: Partial<Parameters<typeof defineCache>[0]> = {}) {
  const loads: string[] = [];
  const permits: (() => void)[] = [];
  let isHeld = false;
  const cache = defineCache<{ key: string; load: number }>({
    name: "styles",
    ttl: "1h",
    memoryFor: 0,
    ...(options as object),
    load: async (key) => {
      loads.push(key);
      const load = loads.length;
      if (isHeld) await new Promise<void>((permit) => permits.push(permit));
      return { key, load };
    },
  });
  return {
    cache,
    loads,
    hold: () => {
      isHeld = true;
    },
    release: () => {
      isHeld = false;
      for (const permit of permits.splice(0)) permit();
    },
  };
}

const expireAll = () =>
  db.query("update fairmill.cache_entry set fresh_until = now() - interval '1 ms' where loader is null");

describe("an entry", () => {
  test("is loaded once, and fresh for every process afterwards", async () => {
    const { cache, loads } = counting();
    expect(await client().cache.get(cache, "all")).toEqual({ key: "all", load: 1 });
    expect(await client().cache.get(cache, "all")).toEqual({ key: "all", load: 1 });
    expect(loads).toEqual(["all"]);
  });

  test("is loaded by one of all that ask at once, in one process and in others", async () => {
    const { cache, loads, hold, release } = counting();
    hold();
    const [one, other] = [client(), client()];
    const asked = [one, one, other, other].map((each) => each.cache.get(cache, "all"));
    await waitUntil("one call loads", () => loads.length === 1);
    release();
    expect(new Set((await Promise.all(asked)).map(({ load }) => load))).toEqual(new Set([1]));
    expect(loads).toEqual(["all"]);
  });

  test("is loaded again when its time is over", async () => {
    const { cache, loads } = counting();
    const asking = client();
    await asking.cache.get(cache, "all");
    await expireAll();
    expect(await asking.cache.get(cache, "all")).toEqual({ key: "all", load: 2 });
    expect(loads).toHaveLength(2);
  });

  test("is answered from memory while that is young, without asking the database", async () => {
    const { cache, loads } = counting({ memoryFor: "1h" });
    const asking = client();
    await asking.cache.get(cache, "all");
    await db.query("delete from fairmill.cache_entry");
    await asking.cache.get(cache, "all");
    expect(loads).toHaveLength(1);
  });

  test("that was deleted is loaded again, by the process that deleted it at once", async () => {
    const { cache, loads } = counting({ memoryFor: "1h" });
    const asking = client();
    await asking.cache.get(cache, "all");
    await asking.cache.delete(cache, "all");
    await asking.cache.get(cache, "all");
    expect(loads).toHaveLength(2);
  });

  test("that was deleted while it was loaded is not kept: it may be outdated", async () => {
    const { cache, loads, hold, release } = counting({ memoryFor: "1h" });
    const [loading, deleting] = [client(), client()];
    hold();
    const asked = loading.cache.get(cache, "all");
    await waitUntil("one call loads", () => loads.length === 1);
    await deleting.cache.delete(cache, "all");
    release();
    expect(await asked).toEqual({ key: "all", load: 1 });
    expect(await loading.cache.get(cache, "all")).toEqual({ key: "all", load: 2 });
  });

  test("of undefined is not kept", async () => {
    let loads = 0;
    const cache = defineCache<undefined>({
      name: "nothing",
      ttl: "1h",
      load: () => {
        loads++;
        return undefined;
      },
    });
    const asking = client();
    expect(await asking.cache.get(cache, "a")).toBeUndefined();
    expect(await asking.cache.get(cache, "a")).toBeUndefined();
    expect(loads).toBe(2);
  });
});

describe("loading that fails", () => {
  test("is told to its caller, and the next one tries at once", async () => {
    let isBroken = true;
    const cache = defineCache<string>({
      name: "flaky",
      ttl: "1h",
      load: () => {
        if (isBroken) throw new Error("the model is away");
        return "back";
      },
    });
    const asking = client();
    await expect(asking.cache.get(cache, "a")).rejects.toMatchObject({
      code: "FAIRMILL_CACHE_LOAD",
      message: expect.stringContaining("the model is away"),
    });
    isBroken = false;
    expect(await asking.cache.get(cache, "a")).toBe("back");
  });

  test("by taking too long is told, and another one may load", async () => {
    const never = defineCache<string>({ name: "slow", ttl: "1h", loadTimeout: 100, load: () => new Promise(() => {}) });
    await expect(client().cache.get(never, "a")).rejects.toMatchObject({ code: "FAIRMILL_CACHE_TIMEOUT" });
    const cache = defineCache<string>({ name: "slow", ttl: "1h", load: () => "loaded" });
    expect(await client().cache.get(cache, "a")).toBe("loaded");
  });

  test("by a process that died leaves the entry to another one when its time is over", async () => {
    const { cache } = counting();
    await db.query("select fairmill.take_cached_v1('styles', 'all', 'dead', 60000)");
    const asked = client().cache.get(cache, "all");
    await db.query("update fairmill.cache_entry set loading_until = now() - interval '1 ms'");
    expect(await asked).toEqual({ key: "all", load: 1 });
    const [late] = await db.query("select fairmill.store_cached_v1('styles', 'all', 'dead', '1', 1000, 10) as stored");
    expect(late).toEqual({ stored: false });
  });
});

test("has at most so many entries: the stalest leave", async () => {
  const { cache } = counting({ entriesMax: 3 });
  const asking = client();
  for (const key of ["a", "b", "c", "d", "e"]) await asking.cache.get(cache, key);
  const kept = await db.query("select key from fairmill.cache_entry order by key");
  expect(kept.map(({ key }) => key)).toEqual(["c", "d", "e"]);
});

test("clear forgets all entries of one cache, and upkeep those that no call asks for", async () => {
  const [styles, emotions] = [counting(), counting({ name: "emotions" })];
  const asking = client();
  for (const { cache } of [styles, emotions]) for (const key of ["a", "b"]) await asking.cache.get(cache, key);
  await asking.cache.clear(styles.cache);
  expect(await db.query("select distinct name from fairmill.cache_entry")).toEqual([{ name: "emotions" }]);
  await db.query("update fairmill.cache_entry set fresh_until = now() - interval '2 hours' where key = 'a'");
  await db.query("select fairmill.tick_upkeep_v1()");
  expect(await db.query("select key from fairmill.cache_entry")).toEqual([{ key: "b" }]);
});

test.each([
  [{ name: "", ttl: "1h" }, "name"],
  [{ name: "x", ttl: 0 }, "ttl"],
  [{ name: "x", ttl: "1h", load: 7 }, "load"],
  [{ name: "x", ttl: "1h", entriesMax: 0 }, "entriesMax"],
  [{ name: "x", ttl: "1h", tll: 1 }, "tll"],
])("settings that make no sense are refused by name: %j", (options, setting) => {
  expect(() => defineCache({ load: () => 1, ...options } as never)).toThrow(
    expect.objectContaining({ code: "FAIRMILL_CONFIG", setting }),
  );
});

test("a key that the database cannot keep is refused, and nothing is loaded", async () => {
  const { cache, loads } = counting();
  await expect(client().cache.get(cache, "a\0b")).rejects.toMatchObject({ code: "FAIRMILL_INPUT_INVALID" });
  await expect(client().cache.get(cache, "x".repeat(501))).rejects.toMatchObject({ code: "FAIRMILL_INPUT_INVALID" });
  expect(loads).toEqual([]);
});
