// A real PgBouncer in transaction mode before a test's database. Where there is none, its tests are skipped and say why.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import pg from "pg";
import { freePort } from "../../src/embedded/free-port.js";
import { endAfterTest } from "./leftovers.js";
import { waitUntil } from "./wait.js";

/** PGBOUNCER names the program; otherwise it is looked for where systems have it. */
const PLACES = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"];
export const pgbouncer: string | undefined =
  process.env["PGBOUNCER"] ?? PLACES.map((folder) => join(folder, "pgbouncer")).find((path) => existsSync(path));

export const WHY_SKIPPED =
  "No pgbouncer was found, so nothing is tried behind one: apt-get install pgbouncer, or name the program in PGBOUNCER.";

/** Connections to the server, for each pair of user and database. */
export const POOL_SIZE = 6;

export interface Pooler {
  readonly url: string;
  /** Asks the same of each connection that the pooler keeps to the server, all of them at once. */
  onEach<Row extends pg.QueryResultRow>(text: string): Promise<Row[]>;
}

const running = new Set<{ child: ChildProcess; folder: string }>();
endAfterTest(async () => {
  for (const one of running) {
    running.delete(one);
    const gone = new Promise((resolve) => one.child.once("exit", resolve));
    if (one.child.exitCode === null && one.child.kill("SIGTERM")) await gone;
    await rm(one.folder, { recursive: true, force: true });
  }
});

/** Ended after the test. */
export async function startPooler(databaseUrl: string): Promise<Pooler> {
  const server = new URL(databaseUrl);
  const folder = await mkdtemp(join(tmpdir(), "fairmill-pooler-"));
  // PgBouncer refuses to run as root, and as another user it must be able to enter.
  const isRoot = process.getuid?.() === 0;
  await chmod(folder, isRoot ? 0o777 : 0o700);
  const port = await freePort();
  const name = server.pathname.slice(1);
  const address = `host=${server.hostname} port=${server.port || 5432} dbname=${name}`;
  const login = `user=${decodeURIComponent(server.username)} password=${decodeURIComponent(server.password)}`;
  await writeFile(
    join(folder, "pgbouncer.ini"),
    `[databases]
${name} = ${address} ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${POOL_SIZE}
max_client_conn = 500
logfile = ${join(folder, "log")}
`,
  );
  const child = spawn(pgbouncer!, [...(isRoot ? ["-u", "nobody"] : []), join(folder, "pgbouncer.ini")], {
    stdio: "ignore",
  });
  running.add({ child, folder });
  const url = `postgres://${server.username}@127.0.0.1:${port}/${name}`;
  await waitUntil("the pooler answers", async () => {
    if (child.exitCode !== null)
      throw new Error(`pgbouncer ended (${child.exitCode}): ${await readFile(join(folder, "log"), "utf8")}`);
    const client = new pg.Client({ connectionString: url, application_name: "test" });
    client.on("error", () => {});
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    );
  });
  return { url, onEach: (text) => onEach(url, text) };
}

/** While all of these transactions are open, each has a connection of its own. */
async function onEach<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const clients = Array.from(
    { length: POOL_SIZE },
    () => new pg.Client({ connectionString: url, application_name: "test" }),
  );
  try {
    for (const client of clients) {
      await client.connect();
      await client.query("begin");
    }
    const answers: Row[] = [];
    for (const client of clients) answers.push(...(await client.query<Row>(text)).rows);
    return answers;
  } finally {
    for (const client of clients) await client.end();
  }
}
