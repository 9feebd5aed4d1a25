// S15: one JSON object a line, whatever a name contains; and lines for people in which nothing moves the cursor.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createLogger, silentLogger } from "fairmill";
import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { forPeople, visible } from "../../src/base/log.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

/** What a process that logs these facts writes to its standard output. */
async function written(script: string, environment: Record<string, string> = {}): Promise<string> {
  const code = `import { createLogger } from "fairmill"; const log = createLogger(); ${script}`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", code], {
    cwd: root,
    env: { ...process.env, ...environment },
  });
  return stdout;
}

test("a level that is none is refused by name", async () => {
  expect(() => createLogger({ level: "loud" })).toThrow(/^createLogger: level: "loud" is not one of "trace"/);
  vi.stubEnv("FAIRMILL_LOG_LEVEL", "verbose");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(() => createLogger()).toThrow(
    expect.objectContaining({
      code: "FAIRMILL_CONFIG",
      message: expect.stringMatching(/^FAIRMILL_LOG_LEVEL: "verbose" is not one of "trace", "debug", "info"/),
    }),
  );
});

test("S15: every line is one JSON object with time, level and message, and hostile names stay inside their quotes", async () => {
  const hostile = JSON.stringify('x"}\n{"level":"error","msg":"forged"}\u0007\u001b[2J');
  const out = await written(
    `log.info({ worker: ${hostile}, n: 1 }, ${hostile}); log.child({ job: "17" }).warn({}, "second"); log.debug({}, "unseen");`,
  );
  const lines = out.trimEnd().split("\n");
  expect(lines).toHaveLength(2);
  const [first, second] = lines.map((line) => JSON.parse(line));
  expect(first).toEqual({
    level: "info",
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    worker: JSON.parse(hostile),
    n: 1,
    msg: JSON.parse(hostile),
  });
  expect(second).toMatchObject({ level: "warn", job: "17", msg: "second" });
});

test("the level is set by FAIRMILL_LOG_LEVEL", async () => {
  const out = await written(`log.debug({}, "a"); log.info({}, "b"); log.error({}, "c");`, {
    FAIRMILL_LOG_LEVEL: "error",
  });
  expect(
    out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).msg),
  ).toEqual(["c"]);
});

/** The line without its colours. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters.
const plain = (line: string) => line.replace(/\u001b\[\d+m/g, "");

test("a line for people names the time, the level, the message and the facts", () => {
  const line = JSON.stringify({
    time: "2026-01-02T12:30:01.123Z",
    level: "info",
    msg: "Job completed",
    job: "17",
    duration: "45.2s",
    queues: { default: 10 },
  });
  expect(plain(forPeople(line))).toBe(
    '12:30:01.123 info  Job completed  job=17 duration=45.2s queues={"default":10}\n',
  );
});

test("a stack of an error is printed below, on its own lines", () => {
  const line = JSON.stringify({
    time: "2026-01-02T12:30:01.123Z",
    level: "error",
    msg: "no",
    err: { stack: "Error: no\n    at x\u001b[2J" },
  });
  expect(plain(forPeople(line))).toBe("12:30:01.123 error no  \nError: no\n    at x\\x1b[2J\n");
});

test("S15: nothing in a line for people can start a new line, move the cursor or ring the bell", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (message, tenant) => {
      const line = plain(
        forPeople(
          JSON.stringify({ time: "2026-01-02T12:30:01.123Z", level: "info", msg: message, tenant, facts: [tenant] }),
        ),
      );
      expect(line.endsWith("\n")).toBe(true);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there.
      expect(line.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
    }),
  );
});

test("control characters are shown as what they are", () => {
  expect(visible("a\tb\u0000c\u009f")).toBe("a\\x09b\\x00c\\x9f");
  expect(visible("a\nb")).toBe("a\\x0ab");
  expect(visible("a\nb", true)).toBe("a\nb");
  expect(visible("äöü 😀")).toBe("äöü 😀");
});

test("the silent logger says nothing and has silent children", () => {
  expect(silentLogger.child({ a: 1 })).toBe(silentLogger);
  silentLogger.error({ a: 1 }, "unheard");
});
