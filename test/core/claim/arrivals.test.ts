// Windows of ids against a model of PostgreSQL: transactions take their numbers, then ids, and end in any order. Every job is reported by a look or a
// scan that comes after its commit, at the latest by the next round.
import { describe, expect, test } from "vitest";
import { Arrivals, type Look } from "../../../src/core/claim/arrivals.js";
import { dice, newSeed } from "../../support/dice.js";

/** So close to the tail, a window is looked at again as soon as any of its transactions has ended. */
const NEAR_IDS = 100;

interface Transaction {
  readonly xid: number;
  readonly ids: number[];
}

/** As news_v1 sees them. */
class Model {
  readonly #running = new Set<Transaction>();
  /** Committed jobs that no look has reported. */
  readonly unseen = new Set<number>();
  #nextXid = 100;
  #latestEnded = 99;
  #newest = 0;
  scans = 0;
  looked = 0;

  begin(): Transaction {
    const transaction = { xid: this.#nextXid++, ids: [] };
    this.#running.add(transaction);
    return transaction;
  }

  enqueue(transaction: Transaction): void {
    transaction.ids.push(++this.#newest);
  }

  end(transaction: Transaction, isCommit: boolean): void {
    this.#running.delete(transaction);
    this.#latestEnded = Math.max(this.#latestEnded, transaction.xid);
    if (isCommit) for (const id of transaction.ids) this.unseen.add(id);
  }

  look(arrivals: Arrivals, isRound: boolean, idsMax: number): void {
    const { tail, starts, bounds, running } = arrivals.asked;
    const xmax = this.#latestEnded + 1;
    const xips = [...this.#running].map(({ xid }) => xid).filter((xid) => xid < xmax);
    const below = (bound: number) => Math.max(0, bound - xmax) + xips.filter((xid) => xid < bound).length;
    const stillRunning = bounds.map((bound) => below(Number(bound)));
    const due = starts.findIndex((start, i) => {
      const width = Number(starts[i + 1] ?? tail) - Number(start);
      return (
        stillRunning[i]! < running[i]! &&
        (stillRunning[i] === 0 || isRound || Number(tail) - Number(start) <= NEAR_IDS) &&
        width <= idsMax
      );
    });
    const from = due === -1 ? Number(tail ?? this.#newest) : Number(starts[due]);
    const to = Math.min(this.#newest, from + idsMax);
    for (const id of this.unseen) if (id > from && id <= to) this.unseen.delete(id);
    this.looked += to - from;
    arrivals.hear(this.#toLook(from, to, stillRunning, below(this.#nextXid)));
  }

  scan(arrivals: Arrivals): void {
    this.scans++;
    arrivals.scanBegins();
    this.unseen.clear();
    arrivals.scanned();
  }

  #toLook(from: number, to: number, stillRunning: number[], nextRunning: number): Look {
    const [newest, nextXid] = [String(this.#newest), String(this.#nextXid)];
    return { newest, from: String(from), to: String(to), nextXid, nextRunning, stillRunning };
  }
}

/** Looks until nothing newer is left; scans where looks are not enough. */
function catchUp(model: Model, arrivals: Arrivals, isRound: boolean, idsMax: number): void {
  for (let n = 0; n < 200; n++) {
    model.look(arrivals, isRound, idsMax);
    if (arrivals.isWide || arrivals.behind > idsMax) model.scan(arrivals);
    else if (arrivals.behind === 0 && !(isRound && arrivals.isUnfinished)) return;
  }
  throw new Error("The looks come to no end.");
}

function start(idsMax: number) {
  const [model, arrivals] = [new Model(), new Arrivals(idsMax)];
  model.look(arrivals, true, idsMax);
  model.scan(arrivals);
  return { model, arrivals };
}

describe("whatever order transactions end in", () => {
  const seed = newSeed();
  test.each([5, 50, 10_000])("no job is missed by a round that comes after its commit: looks of %d ids", (idsMax) => {
    const throwDie = dice(seed);
    const { model, arrivals } = start(idsMax);
    const open: Transaction[] = [];
    for (let n = 0; n < 20_000; n++) {
      const die = throwDie();
      if (die < 0.2 && open.length < 10) open.push(model.begin());
      else if (die < 0.5 && open.length > 0) model.enqueue(open[Math.floor(throwDie() * open.length)]!);
      // The first is older than the others: some run for long.
      else if (die < 0.7 && open.length > 0)
        model.end(open.splice(Math.floor(throwDie() ** 0.3 * open.length), 1)[0]!, throwDie() < 0.8);
      else if (die < 0.9) model.look(arrivals, false, idsMax);
      else {
        catchUp(model, arrivals, true, idsMax);
        expect([...model.unseen]).toEqual([]);
        expect(arrivals.asked.starts.length).toBeLessThanOrEqual(33);
      }
    }
  });
});

test("ids are looked at twice where transactions are short, and no window stays", () => {
  const { model, arrivals } = start(10_000);
  for (let n = 0; n < 1_000; n++) {
    const [first, second] = [model.begin(), model.begin()];
    for (let job = 0; job < 10; job++) for (const one of [first, second]) model.enqueue(one);
    model.end(second, true);
    model.look(arrivals, false, 10_000);
    model.end(first, true);
    model.look(arrivals, false, 10_000);
    expect(arrivals.asked.starts).toEqual([]);
  }
  expect(model.looked).toBeLessThanOrEqual(2 * 20_000);
  expect(model.scans).toBe(1);
});

test("a transaction that writes for long costs one more look at the end, however many rounds pass; what it leaves in doubt is one window", () => {
  const { model, arrivals } = start(10_000);
  const long = model.begin();
  model.enqueue(long);
  for (let n = 0; n < 1_000; n++) {
    const short = model.begin();
    for (let job = 0; job < 5; job++) model.enqueue(short);
    model.look(arrivals, false, 10_000);
    model.end(short, true);
    model.look(arrivals, n % 10 === 9, 10_000);
    model.look(arrivals, n % 10 === 9, 10_000);
  }
  expect(arrivals.asked.starts).toHaveLength(1);
  // Once when they came, and once more in the round after.
  expect(model.looked).toBeLessThanOrEqual(3 * 5_001);
  model.end(long, true);
  expect(model.unseen.size).toBe(1);
  model.look(arrivals, false, 10_000);
  expect(model.unseen.size).toBe(0);
  expect(arrivals.asked.starts).toEqual([]);
});

test("a window that is too wide to be looked at asks for a scan when its transaction has ended, and not before", () => {
  const { model, arrivals } = start(100);
  const long = model.begin();
  model.enqueue(long);
  for (let n = 0; n < 50; n++) {
    const short = model.begin();
    for (let job = 0; job < 5; job++) model.enqueue(short);
    model.end(short, true);
    catchUp(model, arrivals, true, 100);
  }
  const { scans } = model;
  catchUp(model, arrivals, true, 100);
  expect(model.scans).toBe(scans);
  model.end(long, true);
  catchUp(model, arrivals, true, 100);
  expect(model.scans).toBe(scans + 1);
  expect(model.unseen.size).toBe(0);
});

test("what a scan that was under way did not see is not taken as seen", () => {
  const { model, arrivals } = start(100);
  const long = model.begin();
  model.enqueue(long);
  for (let n = 0; n < 250; n++) {
    const short = model.begin();
    model.enqueue(short);
    model.end(short, true);
    model.look(arrivals, true, 100);
  }
  arrivals.scanBegins();
  // Its pages are read; then the transaction ends, and a claim brings news.
  model.end(long, true);
  model.look(arrivals, false, 100);
  arrivals.scanned();
  expect(model.unseen.size).toBe(1);
  catchUp(model, arrivals, true, 100);
  expect(model.unseen.size).toBe(0);
});

test("ids that begin again are a reason to look at all lanes", () => {
  const arrivals = new Arrivals();
  const look = { from: "0", to: "500", nextXid: "7", nextRunning: 0, stillRunning: [] };
  arrivals.hear({ ...look, newest: "500" });
  arrivals.scanBegins();
  arrivals.scanned();
  expect(arrivals.asked.tail).toBe("500");
  arrivals.hear({ ...look, newest: "20" });
  expect(arrivals.behind).toBe(20);
  expect(arrivals.asked.tail).toBe("0");
});

test("a job that arrives is looked for from the oldest window that is open, else behind what was looked at", () => {
  const arrivals = new Arrivals();
  expect(arrivals.firstUnseen).toBe("1");
  const look = { from: "0", nextXid: "100", nextRunning: 0, stillRunning: [] };
  arrivals.hear({ ...look, newest: "10", to: "10" });
  arrivals.hear({ ...look, newest: "10", to: "10", nextRunning: 1 });
  expect(arrivals.firstUnseen).toBe("1");
  arrivals.hear({ ...look, newest: "30", to: "30", nextXid: "120", nextRunning: 1, stillRunning: [0] });
  expect(arrivals.firstUnseen).toBe("11");
  arrivals.hear({ ...look, newest: "30", to: "30", nextXid: "130", stillRunning: [0] });
  expect(arrivals.firstUnseen).toBe("31");
  arrivals.hear({ ...look, newest: "30", to: "30", nextXid: undefined });
  expect(arrivals.firstUnseen).toBe("1");
});
