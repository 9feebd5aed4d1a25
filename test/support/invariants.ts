// What must hold in every database at every quiet moment: the list that `fairmill verify` asks of a live one. Ids are those of
// docs/explanation/invariants.md.
import type pg from "pg";
import { FIRST, WALKS } from "../../src/verify/invariant.js";
import { INVARIANTS } from "../../src/verify/invariants.js";

const RULES = INVARIANTS.filter(({ needsUpkeep }) => !needsUpkeep).map(({ id, sentence, walk, query }) => ({
  id,
  sentence,
  query: query.replaceAll("$1", `'${FIRST[WALKS[walk].key]}'`).replaceAll(/\$2(::\w+)?/g, "null$1"),
}));

/** Accounts that do not add up, by name. Also asked while others work: one statement sees one moment. */
export const ACCOUNTS = RULES.find(({ query }) => query.includes("credit_pending"))!.query;

// Plans are made while the tables are empty, and kept. After autovacuum has seen them empty, a sequential scan for each of 100,000 rows looks cheap.
const FUNCTION = `
create or replace function public.broken_invariants() returns table (rule integer, ids text[]) language plpgsql
set enable_seqscan = off as $$
begin
${RULES.map(({ query }, n) => `  return query select ${n}, array_agg(q.id::text order by q.id::text) from (select id from (${query}) all_of_them limit 10) q having count(*) > 0;`).join("\n")}
end
$$`;

/** Makes the rules a function of the database: one round trip asks all of them, and their plans are kept. */
export async function installInvariants(db: Pick<pg.Pool, "query">): Promise<void> {
  await db.query(FUNCTION);
}

/** The rows that break a rule, which is known by its number. */
export interface Broken {
  readonly rule: number;
  readonly ids: readonly string[];
}

export async function checkInvariants(db: Pick<pg.Pool, "query">): Promise<void> {
  const ask = () => db.query<Broken>("select * from public.broken_invariants()");
  const { rows } = await ask().catch(async (error: { code?: string }) => {
    // A database that is no clone of the template.
    if (error.code !== "42883") throw error;
    await installInvariants(db);
    return ask();
  });
  throwBroken(rows);
}

export function throwBroken(all: readonly Broken[]): void {
  if (all.length === 0) return;
  const said = all.map(
    ({ rule, ids }) => `${RULES[rule]!.id} is broken (${RULES[rule]!.sentence}) by ${ids.join(", ")}`,
  );
  throw new Error(said.join("\n"));
}
