// What must hold in every database at every quiet moment. Ids are those of ARCHITECTURE.md.
import type pg from "pg";

const RULES: readonly (readonly [id: string, what: string, query: string])[] = [
  [
    "D1",
    "a job is live or ended, never both",
    "select id from fairmill.job intersect select id from fairmill.job_history",
  ],
  ["D2", "a job has one end", "select id from fairmill.job_history group by id having count(*) > 1"],
  [
    "D3",
    "a running job has a worker, others have none",
    "select id from fairmill.job where (state = 'running') <> (worker is not null)",
  ],
  [
    "D4",
    "attempts stay within the allowance",
    "select id from fairmill.job_history where attempt - crashes > max_attempts union all select id from fairmill.job where attempt - crashes > max_attempts",
  ],
  [
    "D5",
    "every failure names the lease it happened under, each lease once",
    `select id from (select id, failures from fairmill.job union all select id, failures from fairmill.job_history) j
     cross join lateral (select count(*) as all_of_them, count(distinct f -> 'lease_no') as distinct_ones from jsonb_array_elements(coalesce(failures, '[]')) f) c
     where all_of_them <> distinct_ones`,
  ],
  ["D6", "a done job has no error", "select id from fairmill.job_history where state = 'done' and error is not null"],
];

export async function checkInvariants(db: Pick<pg.Pool, "query">): Promise<void> {
  for (const [id, what, query] of RULES) {
    const { rows } = await db.query(query);
    if (rows.length > 0)
      throw new Error(
        `${id} is broken (${what}) by jobs ${rows
          .slice(0, 10)
          .map((row) => row.id)
          .join(", ")}`,
      );
  }
}
