import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { Worker as Thread } from "node:worker_threads";
import { expect, test } from "vitest";
import { type Clock, sleep, systemClock } from "../../src/base/clock.js";

/** A clock that only remembers what it was asked to do. */
function recordingClock() {
  const timers = new Map<() => void, number>();
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    random: () => 0,
    after: (ms, then) => {
      timers.set(then, ms);
      return () => timers.delete(then);
    },
  };
  return { clock, timers };
}

test("sleep ends when its time is over, and leaves no listener on the signal", async () => {
  const { clock, timers } = recordingClock();
  const controller = new AbortController();
  const slept = sleep(clock, 500, controller.signal);
  const [[wake, ms]] = [...timers] as [[() => void, number]];
  expect(ms).toBe(500);
  wake();
  await slept;
  controller.abort();
  expect(timers.size).toBe(0);
});

test("sleep ends at once when its signal aborts, and forgets its timer", async () => {
  const { clock, timers } = recordingClock();
  const controller = new AbortController();
  const slept = sleep(clock, 500, controller.signal);
  controller.abort();
  await slept;
  expect(timers.size).toBe(0);
});

test("sleep does not even begin under a signal that has aborted", async () => {
  const { clock, timers } = recordingClock();
  await sleep(clock, 500, AbortSignal.abort());
  expect(timers.size).toBe(0);
});

test("a timer longer than the platform's longest waits instead of firing at once", async () => {
  let fired = false;
  const forget = systemClock.after(10 ** 12, () => (fired = true));
  await new Promise<void>((resolve) => systemClock.after(20, resolve) && setTimeout(resolve, 1_000));
  forget();
  expect(fired).toBe(false);
});

test("the machine's clock never runs backwards, and its dice stay below one", () => {
  let last = systemClock.monotonic();
  for (let i = 0; i < 1_000; i++) {
    const now = systemClock.monotonic();
    expect(now).toBeGreaterThanOrEqual(last);
    last = now;
    expect(systemClock.random()).toBeLessThan(1);
  }
});

test("a reading of another thread, younger than this one, fits between two of ours", async () => {
  const clock = new URL("../../dist/base/clock.js", import.meta.url);
  const code = `
    const { parentPort } = require("node:worker_threads");
    parentPort.once("message", async () => parentPort.postMessage((await import("${clock}")).systemClock.monotonic()));`;
  const thread = new Thread(code, { eval: true });
  await once(thread, "online");
  const beforeMs = systemClock.monotonic();
  thread.postMessage("read");
  const [readMs] = await once(thread, "message");
  expect(readMs).toBeGreaterThanOrEqual(beforeMs);
  expect(readMs).toBeLessThanOrEqual(systemClock.monotonic());
  await thread.terminate();
});

test("no file in src reads the machine's clock, sets timers or rolls dice but the clock", async () => {
  const src = new URL("../../src/", import.meta.url);
  const files = (await readdir(src, { recursive: true })).filter((file) => file.endsWith(".ts"));
  const using = await Promise.all(
    files.map(async (file) => {
      const code = (await readFile(new URL(file, src), "utf8")).replaceAll(/\/\*\*.*?\*\/|\/\/[^\n]*/gs, "");
      return /\b(setTimeout|setInterval|Date\.now|performance\.now|Math\.random|hrtime)\b/.test(code) ? [file] : [];
    }),
  );
  // The CLI has a timer that keeps it alive and does nothing; the launcher has a place of its own for waiting.
  expect(using.flat().toSorted()).toEqual(["base/clock.ts", "cli/signals.ts", "embedded/deadline.ts"]);
});
