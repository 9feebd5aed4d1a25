// The functions of the guide about serverless, run as they stand there: Supabase's behind its cron entry, with the extensions' functions as stand-ins that
// keep what they are told; Vercel's as a route. What only the platforms have (their limits, their network) is not here.
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient, defineJob } from "fairmill";
import { transformWithOxc } from "vite";
import { expect, test } from "vitest";
import { type Duration, toMs } from "../../src/base/duration.js";
import { repo, scratchFolder, start } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";
import { endOf } from "../support/jobs.js";
import { OTHER_SECRET as SECRET } from "../ticks/handlers.js";

const db = useDatabase();

const sendMail = defineJob<{ to: string }>({ kind: "mail.send" });

/** The block of the guide that contains this text. */
async function blockWith(text: string, page = "serverless"): Promise<string> {
  const guide = await readFile(join(repo, `docs/guides/${page}.md`), "utf8");
  const blocks = [...guide.matchAll(/^```[^\n]*\n([\s\S]*?)^```$/gm)].map(([, block]) => block!);
  return blocks.find((block) => block.includes(text))!;
}

/** Runs the function that stands in the guide under this name; the platform says what it was given. */
async function deploy(name: string) {
  const source = await blockWith(`// ${name}`);
  const { code } = await transformWithOxc(source, "function.ts", { sourcemap: false });
  const folder = await scratchFolder({ "package.json": '{ "type": "module" }' });
  await mkdir(join(folder, "node_modules"));
  await symlink(repo, join(folder, "node_modules/fairmill"));
  const file = join(folder, "function.js");
  await writeFile(file, code);
  const env = { DATABASE_URL: db.url, FAIRMILL_INTERNAL_SECRET: SECRET };
  const platform = start(join(repo, "test/deploy/function-process.mjs"), [file], { env });
  const { port, exports } = (await platform.message()) as { port: number; exports: string[] };
  return { url: `http://127.0.0.1:${port}`, exports, source, platform };
}

/** Stand-ins with the signatures of pg_cron, pg_net and Supabase's vault. */
const EXTENSIONS = `
  drop schema if exists cron, net, vault cascade; create schema cron; create schema net; create schema vault;
  create table cron.job (name text, schedule text, command text);
  create function cron.schedule(job_name text, schedule text, command text) returns bigint language sql
    as $$ insert into cron.job values (job_name, schedule, command) returning 1 $$;
  create table net.call (url text, headers jsonb, timeout_ms integer);
  create function net.http_post(url text, body jsonb default '{}', params jsonb default '{}',
    headers jsonb default '{"Content-Type": "application/json"}', timeout_milliseconds integer default 5000) returns bigint language sql
    as $$ insert into net.call values (url, headers, timeout_milliseconds) returning 1 $$;
  create table vault.decrypted_secrets (decrypted_secret text, name text);
  create function vault.create_secret(new_secret text, new_name text default null, new_description text default '') returns void language sql
    as $$ insert into vault.decrypted_secrets values (new_secret, new_name) $$`;

test("Supabase: the cron entry calls the function when something is due, and the function answers at once and goes on", async () => {
  await db.query(EXTENSIONS);
  await db.query(
    (await blockWith("cron.schedule('run-job-queue'")).replace("the value of FAIRMILL_INTERNAL_SECRET", SECRET),
  );
  const [entry] = await db.query<{ schedule: string; command: string }>("select * from cron.job");
  expect(entry!.schedule).toBe("* * * * *");
  const calls = async () => {
    await db.query(entry!.command);
    return db.query<{ url: string; headers: Record<string, string>; timeout_ms: number }>("select * from net.call");
  };
  expect(await calls()).toEqual([]);

  await using client = createClient({ databaseUrl: db.url });
  const { id } = await client.enqueue(sendMail, { to: "ann" });
  const [called] = await calls();
  const { url, source, platform } = await deploy("supabase/functions/run-job-queue/index.ts");
  // It is called where it calls itself.
  expect(source).toContain(`selfCall: { url: "${called!.url}"`);

  const answer = await fetch(url, { method: "POST", headers: called!.headers });
  expect([answer.status, await answer.json()]).toEqual([202, { accepted: true }]);
  expect(await platform.message()).toEqual({ kept: true });
  expect(await endOf(client, id)).toMatchObject({ state: "done" });
  expect((await fetch(url, { method: "POST" })).status).toBe(401);
  await db.query("delete from net.call");
  expect(await calls()).toEqual([]);
});

test("Vercel: the route answers the cron of vercel.json, by its bearer token, within the time that a function has", async () => {
  const name = "app/api/tick/route.ts";
  const { url, source, exports } = await deploy(name);
  expect(exports.toSorted()).toEqual(["GET", "POST", "maxDuration"]);
  const [, budget] = /budget: "(\w+)"/.exec(source)!;
  const [, seconds] = /maxDuration = (\d+)/.exec(source)!;
  expect(toMs(budget as Duration, "budget")).toBeLessThan(Number(seconds) * 1_000);
  const { crons } = JSON.parse(await blockWith('"crons"')) as { crons: { path: string }[] };
  expect(`app${crons[0]!.path}/route.ts`).toBe(name);

  await using client = createClient({ databaseUrl: db.url });
  await client.enqueue(sendMail, { to: "ann" });
  const answer = await fetch(url + crons[0]!.path, { headers: { authorization: `Bearer ${SECRET}` } });
  expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ claimed: 1, succeeded: 1 })]);
  expect((await fetch(url, { headers: { authorization: "Bearer other" } })).status).toBe(401);
});

test("A7: the cron entry of the guide about plain SQL is one that pg_cron takes, and gives back the jobs of a dead worker", async () => {
  await db.query(EXTENSIONS);
  await db.query(await blockWith("tick_upkeep_v1()'", "plain-sql"));
  await db.query("select fairmill.register_v1('dead', '{default}')");
  await db.query("select fairmill.enqueue_v1('work')");
  await db.query("select from fairmill.claim_v1('dead')");
  await db.query("update fairmill.worker set lease_until = now() - interval '1 second' where id = 'dead'");
  const [entry] = await db.query<{ schedule: string; command: string }>("select * from cron.job");
  expect(entry!.schedule).toBe("10 seconds");
  await db.query(entry!.command);
  expect(await db.query("select state, crashes from fairmill.job")).toEqual([{ state: "ready", crashes: 1 }]);
});
