// Credits: accounts, their movements, grants.
import { act } from "../acting.js";
import { pageOf } from "../page.js";
import { notFound, requestInvalid } from "../problem.js";
import { readStatement } from "../rooms.js";
import { type Call, limitIn, paging, type Route, route } from "../route.js";
import { boolean, boundedText, integer, number, object, optional } from "../schema.js";
import * as shapes from "../shapes.js";
import { readAccount, readAccounts } from "../view-statements.js";
import { checkedId } from "./jobs.js";

const AMOUNT_MAX = 1_000_000_000_000;

const accountIn = (call: Call<unknown, unknown>): string => {
  const account = call.params["account"] ?? "";
  if (account === "" || Buffer.byteLength(account) > 200 || account.includes("\0") || !account.isWellFormed())
    throw requestInvalid([{ path: "account", message: "is not a name of 1 to 200 bytes" }]);
  return account;
};

export const creditRoutes: readonly Route[] = [
  route("GET", "/credits", {
    summary: "A page of accounts by name",
    role: "viewer",
    tenants: "refused",
    query: object(paging),
    answer: shapes.pageOf(shapes.accountRow),
    handle: ({ http, query }) =>
      pageOf(
        limitIn(query),
        (limit) => readAccounts(http.lists, query.cursor ?? "", limit),
        ({ account }) => account,
      ),
  }),
  route("GET", "/credits/{account}", {
    summary: "One account, and how fast it is used up",
    role: "viewer",
    tenants: "refused",
    answer: shapes.accountDetail,
    handle: async (call) => {
      const found = await readAccount(call.http.view, accountIn(call));
      if (found === undefined) throw notFound("such account");
      const { captured, days, ...account } = found;
      const burnPerDay = days === null || captured === 0 ? null : captured / days;
      return { ...account, burnPerDay, daysLeft: burnPerDay === null ? null : account.available / burnPerDay };
    },
  }),
  route("GET", "/credits/{account}/entries", {
    summary: "The movements of an account, newest first",
    role: "viewer",
    tenants: "refused",
    query: object(paging),
    answer: shapes.pageOf(shapes.creditEntry),
    handle: async (call) => {
      const account = accountIn(call);
      const { cursor } = call.query;
      const before = cursor === undefined ? {} : { before: checkedId(cursor, "cursor") };
      const read = (limit: number) => readStatement(call.http.lists, account, { ...before, limit });
      return pageOf(limitIn(call.query), read, ({ id }) => id);
    },
  }),
  route("POST", "/credits/{account}/grant", {
    summary: "Give credits to an account",
    role: "admin",
    tenants: "refused",
    body: object({
      amount: integer(1, AMOUNT_MAX),
      idempotencyKey: optional(boundedText(1, 500)),
      reason: optional(boundedText(1, 500)),
    }),
    answer: object({ available: number, granted: boolean }),
    handle: async (call) => {
      const account = accountIn(call);
      const { amount, idempotencyKey, reason } = call.body;
      const grant = () =>
        call.http.client.credits.grant(account, amount, {
          ...(idempotencyKey !== undefined && { idempotencyKey }),
          ...(reason !== undefined && { reason }),
        });
      return act(call, "credits.grant", `account ${account}`, grant, { detail: { amount, idempotencyKey, reason } });
    },
  }),
];
