// A page of the movements of an account.
import { checkJobId } from "../base/job-id.js";
import { limitOf } from "../base/page.js";
import { ifGiven, refuseUnknown } from "../base/settings.js";
import { ENTRIES_MAX, type StatementPage } from "./credit-statements.js";

export function checkStatementPage(page: StatementPage): StatementPage & { limit: number } {
  refuseUnknown(page, ["before", "limit"], "credits.statement");
  const { before, limit } = page;
  return { ...ifGiven("before", before, (id) => checkJobId(id, "before")), limit: limitOf(limit, ENTRIES_MAX) };
}
