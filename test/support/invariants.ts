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

const FUNCTION = `
create or replace function public.broken_invariants() returns table (rule integer, ids text[]) language plpgsql as $$
begin
${RULES.map(({ query }, n) => `  return query select ${n}, array_agg(q.id::text) from (select id from (${query}) all_of_them limit 10) q having count(*) > 0;`).join("\n")}
end
$$`;

/** Makes the rules a function of the database: one round trip asks all of them, and their plans are kept. */
export async function installInvariants(db: Pick<pg.Pool, "query">): Promise<void> {
  await db.query(FUNCTION);
}

export async function checkInvariants(db: Pick<pg.Pool, "query">): Promise<void> {
  const ask = () => db.query<{ rule: number; ids: string[] }>("select * from public.broken_invariants()");
  const { rows } = await ask().catch(async (error: { code?: string }) => {
    // A database that is no clone of the template.
    if (error.code !== "42883") throw error;
    await installInvariants(db);
    return ask();
  });
  for (const { rule, ids } of rows) {
    const { id, sentence } = RULES[rule]!;
    throw new Error(`${id} is broken (${sentence}) by ${ids.join(", ")}`);
  }
}
