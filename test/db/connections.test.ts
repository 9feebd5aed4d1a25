// Connections that are given back and asked for again.
import pg from "pg";
import { expect, test } from "vitest";
import { Connections } from "../../src/db/connections.js";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();

function rig(max: number, isOwned = true) {
  const pool = new pg.Pool({ connectionString: db.url, max });
  let acquired = 0;
  pool.on("acquire", () => void acquired++);
  const connections = new Connections({ pool, isOwned, answerMsMax: 5_000, schema: "fairmill" });
  return {
    pool,
    connections,
    acquired: () => acquired,
    [Symbol.asyncDispose]: () => (isOwned ? connections.close() : pool.end()),
  };
}
const endOfTurn = () => new Promise((resolve) => setImmediate(resolve));

test("who asks again at once has the connection that was just given back, without a way through the pool", async () => {
  await using own = rig(2);
  const first = await own.connections.checkOut();
  for (let n = 0; n < 5; n++) {
    own.connections.checkIn(first);
    expect(await own.connections.checkOut()).toBe(first);
  }
  expect(own.acquired()).toBe(1);
  own.connections.checkIn(first);
  expect(own.pool.idleCount).toBe(0);
  await endOfTurn();
  expect(own.pool.idleCount).toBe(1);
  own.connections.checkIn(await own.connections.checkOut());
  expect(own.acquired()).toBe(2);
});

test("of several that are given back in a turn one is at hand, and all are in the pool at its end", async () => {
  await using own = rig(3);
  const clients = await Promise.all([1, 2, 3].map(() => own.connections.checkOut()));
  for (const client of clients) own.connections.checkIn(client);
  expect(own.pool.idleCount).toBe(2);
  await endOfTurn();
  expect(own.pool.idleCount).toBe(3);
});

test("who waits for a connection comes before who asks again", async () => {
  await using own = rig(1);
  const client = await own.connections.checkOut();
  const waiting = own.connections.checkOut();
  await waitUntil("it waits", () => own.pool.waitingCount === 1);
  own.connections.checkIn(client);
  const next = own.connections.checkOut();
  expect(await Promise.race([waiting.then(() => "waiting"), next.then(() => "next")])).toBe("waiting");
  own.connections.checkIn(await waiting);
  own.connections.checkIn(await next);
});

test("one that broke is not at hand, one of a caller's pool goes back at once, and a pool that is closed has all back", async () => {
  await using own = rig(1);
  const broken = await own.connections.checkOut();
  own.connections.checkIn(broken, true);
  const client = await own.connections.checkOut();
  expect(client).not.toBe(broken);
  await using theirs = rig(1, false);
  theirs.connections.checkIn(await theirs.connections.checkOut());
  expect(theirs.pool.idleCount).toBe(1);
  own.connections.checkIn(client);
  await own.connections.close();
});
