// A database as an older release left it: the script that release printed (`fairmill migrate --print`), run as it is.
import { readFile } from "node:fs/promises";
import pg from "pg";
import { database } from "./databases.js";

const fixture = (name: string) => readFile(new URL(`./fixtures/${name}.sql`, import.meta.url), "utf8");

/** The release whose newest migration was this one. */
export async function olderSchema(last: "0011"): Promise<{ url: string }> {
  const { url } = await database();
  await run(url, [await fixture(`schema-${last}`)]);
  return { url };
}

/** The same, with jobs in every state, put there by the functions of that release. */
export async function olderSchemaWithJobs(last: "0011"): Promise<{ url: string }> {
  const { url } = await olderSchema(last);
  await run(url, (await fixture(`jobs-${last}`)).split(/(?<=;)\n/));
  return { url };
}

/** The functions of that release: name, text. */
export async function olderFunctions(last: "0011"): Promise<{ name: string; text: string }[]> {
  const script = await fixture(`schema-${last}`);
  const parts = script.matchAll(/^-- (functions\/\w+)\n(.*?)^insert into fairmill\.migration \(name, checksum\)/gms);
  return [...parts].map(([, name, text]) => ({ name: name!, text: text! }));
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
