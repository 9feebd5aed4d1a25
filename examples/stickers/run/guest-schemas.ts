// In a database that is not the example's own: schemas that are made for this run and dropped after it.
import pg from "pg";

const SCHEMA = "fairmill_example";

export interface GuestSchemas {
  readonly schema: string;
  drop(): Promise<void>;
}

/** Fails when it is there: another example runs in that database, or one was killed before it could drop it. */
export async function guestSchemas(databaseUrl: string): Promise<GuestSchemas> {
  const { host, pathname } = new URL(databaseUrl);
  const query = async (text: string): Promise<void> => {
    const db = new pg.Client({ connectionString: databaseUrl });
    await db.connect();
    try {
      await db.query(text);
    } finally {
      await db.end();
    }
  };
  try {
    await query(`create schema ${SCHEMA}`);
  } catch (error) {
    if ((error as { code?: string }).code !== "42P06") throw error;
    throw new Error(`The schema ${SCHEMA} is in ${host}${pathname} already: the example runs there, or was killed before it could clean up.
If it does not run, remove it: drop schema ${SCHEMA} cascade`);
  }
  console.log(
    `Database: ${host}${pathname}, in the schema ${SCHEMA}, which is made for this example and dropped at its end.`,
  );
  return {
    schema: SCHEMA,
    drop: () => query(`drop schema if exists ${SCHEMA} cascade; drop schema if exists ${SCHEMA}_bot cascade`),
  };
}
