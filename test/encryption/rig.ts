// Keys, codecs and a kind to seal, and what is stored of its jobs.
import { createCodec, defineJob, fixed } from "fairmill";
import type { TestDatabase } from "../support/database.js";

export const keys = { old: Buffer.alloc(32, 1), new: Buffer.alloc(32, 2).toString("base64") };
export const oldOnly = createCodec({ keys: { old: keys.old }, current: "old" });
export const codec = createCodec({ keys, current: "new" });
export const mail = defineJob<{ to: string }>({ kind: "mail", retry: { attempts: 2, backoff: fixed(0) } });

export function storedRows(db: TestDatabase) {
  /** Every row of every table, as text. */
  async function everything(): Promise<string> {
    const tables = await db.query<{ name: string }>(
      "select relname as name from pg_class where relnamespace = 'fairmill'::regnamespace and relkind = 'r' and relname not like 'migration%'",
    );
    const texts = await Promise.all(
      tables.map(({ name }) => db.query<{ text: string }>(`select t::text as text from fairmill.${name} t`)),
    );
    return texts.flatMap((rows) => rows.map(({ text }) => text)).join("\n");
  }
  const storedOf = async (id: string) =>
    (
      await db.query<{ payload: unknown; progress: unknown; result: unknown }>(
        `select payload, progress, null::jsonb as result from fairmill.job where id = $1
       union all select payload, progress, result from fairmill.job_history where id = $1`,
        [id],
      )
    )[0]!;
  const change = (id: string, expression: string) =>
    db.query(`update fairmill.job set payload = ${expression} where id = $1`, [id]);

  return { everything, storedOf, change };
}
