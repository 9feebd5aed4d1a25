// C7: was a message delivered twice? Asked of what is on record, and of what the receiver saw: a key that a constraint keeps unique says nothing.
import type pg from "pg";
import type { CountingReceiver } from "./receiver.js";

/** Keys of which two deliveries are on record. */
export const DUPLICATES =
  "select idempotency_key from fairmill.channel_outbox group by idempotency_key having count(*) > 1";

/** A receiver that takes keys applies each once, however often it comes. */
const TAKES_KEYS = "keyed";

/** The same, joined with what the receiver applied: keys of which two deliveries are on record, or that it applied twice. */
export async function duplicatesIn(pool: pg.Pool, { taken }: Pick<CountingReceiver, "taken">): Promise<string[]> {
  const applied = [...taken].flatMap(([channel, keys]) =>
    [...keys].flatMap(([key, { bodies }]) =>
      bodies.slice(0, channel === TAKES_KEYS ? 1 : bodies.length).map(() => ({ channel, key })),
    ),
  );
  const { rows } = await pool.query<{ idempotency_key: string }>(
    `select o.idempotency_key from fairmill.channel_outbox o
     join jsonb_to_recordset($1) as applied (channel text, key text) on applied.channel = o.channel and applied.key = o.message_key
     group by o.idempotency_key having count(*) > 1`,
    [JSON.stringify(applied)],
  );
  return rows.map((row) => row.idempotency_key);
}
