// Databases that an older release left, made with this package: it plays the older one, or one before it plays that.
import { readFile } from "node:fs/promises";
import pg from "pg";
import { migrate } from "../../src/db/migrate/migrate.js";
import { pieceOf, readShipped, type Shipped, shippedOf } from "../../src/db/migrate/shipped.js";
import { database, open } from "./databases.js";
import { later } from "./releases.js";

/** Functions that took less before, and one that answered something else. */
const SHORTER: Readonly<Record<string, (text: string) => string>> = {
  claim_lanes_v1: (text) => without(text, /,\s*durable boolean default true, list_no bigint default null(?=\))/),
  enqueue_many_v1: (text) => without(text, /,\s*partial boolean default false(?=\))/),
  wake_v1: (text) => without(text, /, due_in_ms float8 default null(?=\))/),
  listening_v1: (text) => without(text, / returns void/i, " returns boolean"),
};

function without(text: string, part: RegExp, instead = ""): string {
  const shorter = text.replaceAll(/\n(?=returns )/g, " ").replace(part, instead);
  if (!part.test(text.replaceAll(/\n(?=returns )/g, " "))) throw new Error(`the function has no ${part}`);
  return shorter;
}

/** The texts of `SHORTER`, by name. Their bodies do not fit them: they are to be replaced, not to be called. */
export async function olderFunctions(): Promise<{ name: string; text: string }[]> {
  const { functions } = await readShipped();
  return Object.entries(SHORTER).map(([name, shorten]) => {
    const { text } = functions.find((piece) => piece.name === `functions/${name}`)!;
    return { name: `functions/${name}`, text: shorten(text) };
  });
}

/** The release before this one: the same tables, some functions otherwise. */
async function earlier(): Promise<Shipped> {
  const { migrations, functions } = await readShipped();
  const older = new Map((await olderFunctions()).map(({ name, text }) => [name, text]));
  const texts = functions.map((piece) => pieceOf(piece.name, older.get(piece.name) ?? piece.text));
  return shippedOf(migrations, texts, "0.0.1");
}

/** A database that the release before this one has migrated. */
export async function olderSchema(): Promise<{ url: string }> {
  const { url } = await database();
  await migrate(open(url), { shipped: await earlier() });
  return { url };
}

/** A database of this release, with jobs in every state that its own functions put there. */
export async function schemaWithJobs(): Promise<{ url: string }> {
  const { url } = await database({});
  const script = await readFile(new URL("./fixtures/jobs.sql", import.meta.url), "utf8");
  await run(url, script.split(/(?<=;)\n/));
  return { url };
}

/** What a later release may do to the tables, each while they are full of jobs. */
export const NOVELTIES = {
  "a column with a default, in live and ended jobs": `
    alter table fairmill.job add column novelty integer not null default 7;
    alter table fairmill.job_history add column novelty integer not null default 7`,
  "every row of the jobs written again": `
    alter table fairmill.job add column novelty uuid not null default gen_random_uuid()`,
  "the index of the lanes made again": `
    drop index fairmill.job_lane;
    create index job_lane on fairmill.job (fairmill.level_v1(queue, priority), tenant, coalesce(turn_no, id), kind) where aside is null`,
  "a table that takes over a column of the jobs": `
    create table fairmill.novelty as select id, progress from fairmill.job where progress is not null;
    alter table fairmill.novelty add primary key (id);
    update fairmill.job set progress = null where progress is not null`,
} as const;

/** A later release with all of them, and functions that take more than they did. */
export async function laterRelease(): Promise<Shipped> {
  const { functions } = await readShipped();
  const { text } = functions.find(({ name }) => name === "functions/wake_v1")!;
  const migrations = [
    ...Object.values(NOVELTIES).map((each, i) => each.replaceAll("novelty", `novelty_${i}`)),
    "update fairmill.queue set rescan_no = rescan_no + 1",
  ];
  return later(migrations, {
    functions: { wake_v1: text.replace("due_in_ms float8 default null", "$&, why text default null") },
  });
}

/** Each statement, or script, is a transaction of its own. */
async function run(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
