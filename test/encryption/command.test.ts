// F9: what the command shows of sealed jobs, with a codec in the config and without.
import { createClient, createCodec, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { cli, jsonOf, scratchFolder } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase();
const key = Buffer.alloc(32, 9).toString("base64");
const codec = createCodec({ keys: { "2026-11": key }, current: "2026-11" });
const mail = defineJob<{ to: string }>({ kind: "mail" });

const CONFIG = `import { createCodec, defineConfig } from "fairmill";
export default defineConfig({
  codec: createCodec({ keys: { "2026-11": process.env.THE_KEY! }, current: "2026-11" }),
});`;

async function stored(): Promise<string> {
  await using client = createClient({ databaseUrl: db.url, codec });
  return (await client.enqueue(mail, { to: "plaintext" })).id;
}

test("without a codec, people see that a payload is sealed and with which key; programs see what is stored", async () => {
  const cwd = await scratchFolder();
  const where = { cwd, env: { DATABASE_URL: db.url } };
  const id = await stored();
  const [forPeople, forPrograms, listed] = await Promise.all([
    cli(["job", id], where),
    cli(["job", id, "--json"], where),
    cli(["jobs"], where),
  ]);
  expect(forPeople.code).toBe(0);
  expect(forPeople.stdout).toContain("Payload\n  (sealed, key 2026-11)\n");
  expect(forPeople.stdout).not.toContain("data");
  expect(jsonOf(forPrograms)).toMatchObject({ payload: { "fairmill:sealed": 1, kid: "2026-11" } });
  expect(listed.code).toBe(0);
});

test("a key id that another program wrote does not reach the terminal", async () => {
  const cwd = await scratchFolder();
  const id = await stored();
  await db.query(`update fairmill.job set payload = payload || '{"kid": "\\u001b[2Jx"}' where id = $1`, [id]);
  const { stdout } = await cli(["job", id], { cwd, env: { DATABASE_URL: db.url } });
  expect(stdout).toContain("(sealed, key unknown)");
});

test("with the codec in the config, job and jobs show what was sealed, and enqueue seals; also when all else is said", async () => {
  const cwd = await scratchFolder({ "fairmill.config.ts": CONFIG });
  const env = { DATABASE_URL: db.url, FAIRMILL_SCHEMA: "fairmill", THE_KEY: key };
  const id = await stored();
  const enqueued = await cli(["enqueue", "mail", '{"to":"plaintext too"}', "--json"], { cwd, env });
  const rows = await db.query<{ text: string }>("select j::text as text from fairmill.job j");
  expect(rows).toHaveLength(2);
  for (const { text } of rows) expect(text).not.toContain("plaintext");
  const [shown, listed, other] = await Promise.all([
    cli(["job", id], { cwd, env }),
    cli(["jobs", "--json"], { cwd, env }),
    cli(["job", jsonOf<{ id: string }>(enqueued).id, "--json"], { cwd, env }),
  ]);
  expect(shown.stdout).toContain('"to": "plaintext"');
  expect(jsonOf(listed)).toMatchObject({
    jobs: [{ payload: { to: "plaintext too" } }, { payload: { to: "plaintext" } }],
  });
  expect(jsonOf(other)).toMatchObject({ payload: { to: "plaintext too" } });
});

test("a config with a bad key is refused by the name of the key, and the key is not shown", async () => {
  const cwd = await scratchFolder({ "fairmill.config.ts": CONFIG });
  const env = { DATABASE_URL: db.url, THE_KEY: "dG9vIHNob3J0" };
  const [jobs, work] = await Promise.all([cli(["jobs"], { cwd, env }), cli(["work"], { cwd, env })]);
  // A list shows no payloads, and is shown.
  expect([jobs.code, work.code]).toEqual([0, 1]);
  for (const { stdout, stderr } of [jobs, work]) {
    expect(stderr).toContain("keys.2026-11: has 9 bytes where AES-256 needs 32");
    expect(stdout + stderr).not.toContain("dG9vIHNob3J0");
  }
});
