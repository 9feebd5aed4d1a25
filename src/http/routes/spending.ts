// Limits with a name and units, and what tenants may spend at providers.
import { tenantOf } from "../acting.js";
import { pageOf } from "../page.js";
import { requestInvalid } from "../problem.js";
import { readBudgets, readNamedLimits } from "../rooms.js";
import { limitIn, paging, type Route, route } from "../route.js";
import { name, object, optional } from "../schema.js";
import * as shapes from "../shapes.js";

/** A name of five parts, as the last one of a page told it. */
function budgetIn(cursor: string): readonly string[] {
  try {
    const parts: unknown = JSON.parse(cursor);
    if (Array.isArray(parts) && parts.length === 5 && parts.every((part) => typeof part === "string")) return parts;
  } catch {
    // Said below.
  }
  throw requestInvalid([{ path: "cursor", message: "is not what a page before this one answered" }]);
}

export const spendingRoutes: readonly Route[] = [
  route("GET", "/named-limits", {
    summary: "A page of limits that have a name and units, with the jobs that wait for each",
    role: "viewer",
    tenants: "refused",
    query: object(paging),
    answer: shapes.pageOf(shapes.namedLimit),
    handle: ({ http, query }) =>
      pageOf(
        limitIn(query),
        (limit) => readNamedLimits(http.lists, { after: query.cursor ?? "", limit }),
        (last) => last.name,
      ),
  }),
  route("GET", "/budgets", {
    summary: "A page of budgets, with what is spent of each",
    role: "viewer",
    tenants: "own",
    query: object({ ...paging, tenant: optional(name) }),
    answer: shapes.pageOf(shapes.budget),
    handle: (call) =>
      pageOf(
        limitIn(call.query),
        (limit) => {
          const after = call.query.cursor === undefined ? undefined : budgetIn(call.query.cursor);
          return readBudgets(call.http.lists, tenantOf(call, call.query.tenant), after, limit);
        },
        ({ tenant, per, provider, kind, currency }) =>
          JSON.stringify([tenant, per, provider ?? "", kind ?? "", currency]),
      ),
  }),
];
