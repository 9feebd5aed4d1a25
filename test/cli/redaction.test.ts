// F9: what a config says must not be shown is not shown; where the config cannot be loaded, no contents are.
import { createClient, defineJob, handle } from "fairmill";
import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { startWorker } from "../support/jobs.js";
import { cli, jsonOf, scratchFolder } from "./cli.js";

const db = useDatabase();
const job = defineJob<{ email: string }>({ kind: "invite", retry: { attempts: 1 } });
const EMAIL = "ann@example.com";
const NOT_SHOWN = "(not shown: the config with its redaction rules could not be loaded)";
const BROKEN = { "fairmill.config.ts": "import 'no-such-package';\nexport default {};" };
const SOUND = { "fairmill.config.json": JSON.stringify({ redact: ["email"] }) };

let id: string;
let message: string;
let shows: readonly (readonly string[])[];

beforeEach(async () => {
  await using client = createClient({ databaseUrl: db.url });
  const worker = await startWorker(db.url, [
    handle(job, async ({ log, step, input: { email } }) => {
      log.info({ email }, `to ${email}`);
      await step("look up", () => ({ email }));
      throw new Error(`No mailbox ${email}`, { cause: new Error(email) });
    }),
  ]);
  ({ id } = await client.enqueue(job, { email: EMAIL }));
  await client.result(id).catch(() => {});
  await worker.stop();
  await db.query("update fairmill.job_history set progress = $1 where id = $2", [JSON.stringify({ email: EMAIL }), id]);
  message = (await client.publish("mails", { email: EMAIL }, { idempotencyKey: "k" })).id;
  shows = [
    ["jobs"],
    ["job", id, "--full"],
    ["job", id, "--logs"],
    ["redrive", "--dry-run"],
    ["outbox", "get", message],
  ];
});

/** What each command prints, as text and as JSON. */
async function printed(files: Record<string, string>, ...more: string[]): Promise<Map<string, string>> {
  const cwd = await scratchFolder(files);
  const env = { DATABASE_URL: db.url };
  const calls = shows.flatMap((args) => [args, [...args, "--json"]]).map((args) => [...args, ...more]);
  const said = new Map<string, string>();
  for (const args of calls) {
    const { code, stdout, stderr } = await cli(args, { cwd, env, isSettled: true });
    expect({ args, code, stderr }).toMatchObject({ args, code: 0 });
    said.set(args.join(" "), stdout);
  }
  return said;
}

describe("what a job and a message contain", () => {
  test("is redacted by the rules of the config, by every command that shows it", async () => {
    for (const [args, text] of await printed(SOUND)) expect(text, args).not.toContain(EMAIL);
  });

  test("is not shown at all where the config cannot be loaded, and the commands go on", async () => {
    const said = await printed(BROKEN);
    for (const [args, text] of said) expect(text, args).not.toContain(EMAIL);
    const detail = JSON.parse(said.get(`job ${id} --full --json`)!);
    expect(detail).toMatchObject({
      state: "dead",
      payload: NOT_SHOWN,
      progress: NOT_SHOWN,
      result: null,
      error: { name: "Error", message: NOT_SHOWN },
      failures: [{ attempt: 1, error: { message: NOT_SHOWN } }],
      steps: [{ name: "look up", result: NOT_SHOWN }],
    });
    expect(JSON.parse(said.get(`outbox get ${message} --json`)!)).toMatchObject({ payload: NOT_SHOWN, answer: null });
    for (const args of [`job ${id} --full`, `job ${id} --logs`, `outbox get ${message}`])
      expect(said.get(args), args).toContain(NOT_SHOWN);
  });

  test("is shown as it is without a config, and with --no-config whatever the config says", async () => {
    const shownIn = ([args, text]: [string, string]) => [args.replace(" --no-config", ""), text.includes(EMAIL)];
    const plain = [...(await printed({}))].map(shownIn);
    expect([...(await printed(BROKEN, "--no-config"))].map(shownIn)).toEqual(plain);
    expect([...(await printed(SOUND, "--no-config"))].map(shownIn)).toEqual(plain);
    for (const [args, isShown] of plain) expect({ args, isShown }).toEqual({ args, isShown: true });
  });
});

test("the note says that nothing is shown and what shows it; a config that is not wanted is not loaded", async () => {
  const cwd = await scratchFolder(BROKEN);
  const env = { DATABASE_URL: db.url };
  const { stderr } = await cli(["job", id], { cwd, env });
  expect(stderr).toContain("Payloads, results and errors are not shown; --no-config shows them.");
  const without = await cli(["job", id, "--no-config", "--json"], { cwd, env });
  expect(without.stderr).toBe("");
  expect(jsonOf<{ payload: object }>(without).payload).toEqual({ email: EMAIL });
  // What only the config knows is still asked of it: other rules than the fleet's would end its alerts.
  expect((await cli(["alerts", "evaluate"], { cwd, env })).code).toBe(1);
});
