// Jobs with a unique key, as the tests enqueue them.
import { type Asker, claim, enqueueUnique, type Met, type NewRow } from "../../support/sql/calls.js";

export const kept = (id: string) => ({ id, created: false, conflict: "kept" });

export function uniqueCalls(db: Asker) {
  const one = async (job: NewRow): Promise<Met> => (await enqueueUnique(db, [{ kind: "work", ...job }]))[0]!;
  return {
    one,
    again: (unique: NewRow, payload: unknown = "second") => one({ unique_key: "k", payload, ...unique }),
    stored: async () => Number((await db.query<{ n: string }>("select count(*) as n from fairmill.job"))[0]!.n),
    /** Claims the one job that is ready. */
    start: async (): Promise<{ id: string; lease_no: string }> => {
      await db.query(
        "insert into fairmill.worker (id, queues, lease_until) values ('w', '{default}', now() + interval '1 hour') on conflict do nothing",
      );
      const [claimed] = await claim(db, "w");
      return claimed!;
    },
  };
}
