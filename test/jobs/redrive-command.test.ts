// `redrive`, `rerun`, and what `job` and `jobs` tell about the dead, on a real database.
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { confirm } from "../../src/cli/confirm.js";
import { cli, jsonOf, project, type Surroundings, startCli } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const here = (more: Surroundings = {}): Surroundings => ({ ...more, env: { DATABASE_URL: db.url, ...more.env } });

const bury = async (count: number, kind = "mail.send", error: object = { code: "E_1", message: "the bank said no" }) =>
  (
    await db.query<{ id: string }>(
      `insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, created_at, ended_at, payload, error)
       select nextval('fairmill.job_id_seq'), 1, 0, 1, 0, 3, 'dead', 'default', 'acme', $2, now(), now(), '{"name": "ann"}', $3::jsonb
       from generate_series(1, $1) returning id`,
      [count, kind, JSON.stringify(error)],
    )
  ).map(({ id }) => id);

const liveCount = async () => (await db.query<{ n: number }>("select count(*)::integer as n from fairmill.job"))[0]!.n;

describe("redrive", () => {
  test("F6: --dry-run shows what fits, by kind and error, and changes nothing", async () => {
    const [oldest] = await bury(12);
    await bury(1, "print\u001b[2J", { message: "no\r\npaper" });
    const [all, one, none, json] = await Promise.all([
      cli(["redrive", "--dry-run"], here()),
      cli(["redrive", "--dry-run", "--error-text", "paper"], here()),
      cli(["redrive", "--dry-run", "--tenant", "nobody"], here()),
      cli(["redrive", "--dry-run", "--kind", "mail.send", "--json"], here()),
    ]);
    expect(all.code).toBe(0);
    expect(all.stdout).toMatch(
      /^13 jobs fit:\nJOBS +KIND +ERROR CODE\n12 +mail\.send +E_1\n1 +print.* +-\n\nThe oldest:\n/,
    );
    expect(all.stdout).toContain(`  ${oldest}  acme  the bank said no\n`);
    expect(one.stdout).toMatch(/^1 job fits:\n/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there.
    expect(one.stdout).not.toMatch(/[\u001b\r]/);
    expect(none).toMatchObject({ code: 0, stdout: expect.stringContaining("No dead job fits.") });
    expect(jsonOf(json)).toMatchObject({ count: 12, more: false, groups: [{ kind: "mail.send", count: 12 }] });
    expect(await liveCount()).toBe(0);
  });

  test("F6: without a terminal to ask in it wants --yes: exit code 2, and nothing happens", async () => {
    await bury(2);
    const [plain, json] = await Promise.all([cli(["redrive"], here()), cli(["redrive", "--json"], here())]);
    expect(plain).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
    expect(plain.stderr).toContain("--dry-run");
    expect(jsonOf(json)).toMatchObject({ error: { code: "FAIRMILL_USAGE" } });
    expect(await liveCount()).toBe(0);
  });

  test("F6: --yes puts back what fits, and only that", async () => {
    const ids = await bury(5);
    await bury(3, "other", { code: "E_2", message: "no" });
    const done = await cli(["redrive", "--yes", "--error-code", "E_1", "--since", "1h", "--batch", "2"], here());
    expect(done).toMatchObject({ code: 0, stdout: "5 jobs returned to the queue, 8 looked at.\n", stderr: "" });
    const rows = await db.query<{ id: string }>("select id from fairmill.job order by id");
    expect(rows.map(({ id }) => id)).toEqual(ids);
    const rest = await cli(["redrive", "--yes", "--json"], here());
    expect(jsonOf(rest)).toEqual({ redriven: 3, seen: 3, after: expect.any(String), complete: true });
  });

  test("F6: Ctrl-C in the middle says how many were put back and how to go on, and going on does the rest", async () => {
    const ids = await bury(3);
    const live = startCli(["redrive", "--yes", "--rate", "1/1d"], here());
    await waitUntil("the first batch is back", async () => (await liveCount()) === 1);
    live.child.kill("SIGINT");
    const ended = await live.ended;
    expect(ended.code).toBe(1);
    expect(ended.stdout).toBe(
      `Stopped: 1 job returned to the queue, 1 looked at. Go on: the same command with --after ${ids[0]}\n`,
    );
    expect(await liveCount()).toBe(1);
    const rest = await cli(["redrive", "--yes", "--after", ids[0]!, "--json"], here());
    expect(jsonOf(rest)).toMatchObject({ redriven: 2, seen: 2, complete: true });
  });

  test.each([
    ["--since", "yesterday"],
    ["--batch", "0"],
    ["--rate", "fast"],
    ["--after", "x"],
    ["--error-text", ""],
    ["--state", "done"],
  ])("%s %j is refused as a mistake of the command line", async (option, value) => {
    expect(await cli(["redrive", "--yes", option, value], here())).toMatchObject({ code: 2 });
  });
});

describe("the question before it", () => {
  test.each([
    ["y\n", true],
    ["YES\n", true],
    ["n\n", false],
    ["\n", false],
    ["yesterday\n", false],
    ["", false],
  ])("%j means %s", async (typed, meant) => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const asked = confirm("Sure?", input, output);
    input.end(typed);
    expect(await asked).toBe(meant);
    expect(String(output.read())).toContain("Sure? [y/N] ");
  });
});

describe("rerun", () => {
  test("F6: stores a new job with other input, and `job` shows the line from both ends", async () => {
    const [id] = (await bury(1)) as [string];
    const made = await cli(["rerun", id, "--input", '{"name":"bob"}'], here());
    expect(made.code).toBe(0);
    const [, newId] = /^Job (\d+) is stored and repeats job \d+\. Follow it: fairmill job \d+\n$/.exec(made.stdout)!;
    const [old, young, json] = await Promise.all([
      cli(["job", id], here()),
      cli(["job", newId!], here()),
      cli(["job", newId!, "--json"], here()),
    ]);
    expect(old.stdout).toContain(`  repeated by job ${newId}\n`);
    expect(old.stdout).toContain(`fairmill rerun ${id} --input`);
    expect(young.stdout).toContain(`  repeats  job ${id}\n`);
    expect(jsonOf(json)).toMatchObject({ payload: { name: "bob" }, tenant: "acme", rerunOf: id, reruns: [] });
    const own = ["--attempts", "9", "--timeout", "7s", "--expire", "1h", "--tag", "eu", "--tag", "new"];
    const other = jsonOf(await cli(["rerun", id, ...own, "--json"], here())) as { id: string };
    expect(jsonOf(await cli(["job", other.id, "--json"], here()))).toMatchObject({
      ...{ maxAttempts: 9, timeoutMs: 7_000, tags: ["eu", "new"], expireAt: expect.any(String) },
    });
    const stdin = await cli(["rerun", id, "--input", "-", "--json"], here({ input: '{"name":"eve"}' }));
    expect(jsonOf(stdin)).toMatchObject({ created: true, rerunOf: id });
  });

  test("F6: a definition in the config validates the input", async () => {
    const [id] = (await bury(1, "greet")) as [string];
    const where = here({ cwd: project });
    const [wrong, right] = await Promise.all([
      cli(["rerun", id, "--input", '{"name":7}', "--json"], where),
      cli(["rerun", id, "--input", '{"name":"Ann"}', "--json"], where),
    ]);
    expect(wrong.code).toBe(1);
    expect(jsonOf(wrong)).toMatchObject({ error: { code: "FAIRMILL_INPUT_INVALID" } });
    expect(right.code).toBe(0);
    expect(await liveCount()).toBe(1);
  });

  test("a job that is live or unknown, and input that is no JSON, are refused", async () => {
    const [id] = (await bury(1)) as [string];
    const { id: waiting } = jsonOf<{ id: string }>(await cli(["enqueue", "mail.send", "--json"], here()));
    const [live, unknown, malformed] = await Promise.all([
      cli(["rerun", waiting, "--json"], here()),
      cli(["rerun", "999999", "--json"], here()),
      cli(["rerun", id, "--input", "{to"], here()),
    ]);
    expect(live.code).toBe(1);
    expect(jsonOf(live)).toMatchObject({ error: { code: "FAIRMILL_JOB_NOT_ENDED" } });
    expect(jsonOf(unknown)).toMatchObject({ error: { code: "FAIRMILL_JOB_NOT_FOUND" } });
    expect(malformed).toMatchObject({ code: 2, stderr: expect.stringContaining("not JSON") });
    expect(await liveCount()).toBe(1);
  });
});

test("jobs: --error-code, --error-text, --since and --until find the ended ones", async () => {
  const [a] = await bury(1);
  const [b] = await bury(1, "print", { code: "E_2", message: "no paper" });
  const ids = async (...args: string[]) =>
    jsonOf<{ jobs: { id: string }[] }>(await cli(["jobs", "--json", ...args], here())).jobs.map(({ id }) => id);
  expect(await ids("--error-code", "E_2")).toEqual([b]);
  expect(await ids("--error-text", "the bank")).toEqual([a]);
  expect(await ids("--since", "1h", "--state", "dead")).toEqual([b, a]);
  expect(await ids("--until", "1h")).toEqual([]);
});
