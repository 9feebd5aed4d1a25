// The database's own cron calls a tick handler when there is something to do: on Debian's PostgreSQL 15 with pg_cron, where both are installed.
// pg_net is not in Debian: curl takes its place. pg_cron looks once a minute, so this takes as long.
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, createTickHandler, defineJob, handle, silentLogger } from "fairmill";
import pg from "pg";
import { expect, test } from "vitest";
import { startEmbedded } from "../../dist/embedded/index.js";
import { endOf } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";
import { SECRET } from "./handlers.js";

const BIN = "/usr/lib/postgresql/15/bin";
const needs = [`${BIN}/postgres`, "/usr/share/postgresql/15/extension/pg_cron.control", "/usr/bin/curl"];
const missing = needs.filter((file) => !existsSync(file));
if (missing.length > 0)
  console.log(
    `No tick is called by pg_cron, because ${missing.join(", ")} is missing: apt-get install postgresql-15-cron curl.`,
  );

test.skipIf(missing.length > 0)(
  "pg_cron calls the handler in the next minute, and not while nothing is due",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "fairmill-cron-"));
    await chmod(folder, 0o711);
    const bin = process.env["FAIRMILL_POSTGRES_BIN"];
    process.env["FAIRMILL_POSTGRES_BIN"] = BIN;
    const server = await startEmbedded({
      dataDir: join(folder, "postgres"),
      durable: false,
      settings: {
        shared_preload_libraries: "pg_cron",
        "cron.database_name": "fairmill",
        "cron.use_background_workers": "on",
      },
    });
    const work = defineJob({ kind: "work" });
    const tick = createTickHandler({
      ...{ databaseUrl: server.url, handlers: [handle(work, () => "ran")], secret: SECRET, logger: silentLogger },
    });
    const web = createServer((request, response) => {
      const secret = String(request.headers["x-internal-secret"]);
      void tick(
        new Request("http://127.0.0.1/tick", { method: "POST", headers: { "x-internal-secret": secret } }),
      ).then(async (answer) => {
        response.statusCode = answer.status;
        response.end(await answer.text());
      });
    });
    await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
    const client = createClient({ databaseUrl: server.url });
    const admin = new pg.Client({ connectionString: server.url });
    try {
      await client.migrate();
      await admin.connect();
      await admin.query("create extension pg_cron");
      const { port } = web.address() as AddressInfo;
      const call = `curl -s -X POST -H "x-internal-secret: ${SECRET}" http://127.0.0.1:${port}/tick`;
      await admin.query("select cron.schedule('run-job-queue', '* * * * *', $1)", [
        `do $do$ begin if fairmill.tick_due_v1() then copy (select 1) to program '${call}'; end if; end $do$`,
      ]);
      const { id } = await client.enqueue(work, {});
      expect(await endOf(client, id, 150_000)).toMatchObject({ state: "done", result: "ran" });
      const rows = await waitUntil("the tick is on record", async () => {
        const written = await admin.query("select mode, jobs_succeeded from fairmill.worker_tick_metrics");
        return written.rows.length > 0 && written.rows;
      });
      expect(rows).toEqual([{ mode: "tick", jobs_succeeded: 1 }]);
      expect((await admin.query("select fairmill.tick_due_v1() as due")).rows).toEqual([{ due: false }]);
    } finally {
      if (bin === undefined) delete process.env["FAIRMILL_POSTGRES_BIN"];
      else process.env["FAIRMILL_POSTGRES_BIN"] = bin;
      await admin.end();
      await client.close();
      await tick.close();
      web.closeAllConnections();
      web.close();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
);
