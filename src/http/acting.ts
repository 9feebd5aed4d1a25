// Actions of people: recorded with their actor before they happen, with their outcome after.
import { explaining } from "../db/explain-failure.js";
import { notFound } from "./problem.js";
import { audited, type JobDetail, readJobDetail } from "./rooms.js";
import type { Call } from "./route.js";

type AnyCall = Call<unknown, unknown>;

/** Does `work` as the caller, under a record. */
export function act<T>(
  { http, caller }: AnyCall,
  action: string,
  subject: string,
  work: () => Promise<T>,
  more: { readonly tenant?: string | undefined; readonly detail?: Record<string, unknown> } = {},
): Promise<T> {
  const actor = { name: caller.actor, via: "http", role: caller.role } as const;
  return audited(http.db, actor, { action, subject, ...more }, () => explaining(http.db.schema, work));
}

/** The job, if there is one and the caller may see it. Another tenant's is not told apart from none. */
export async function jobFor({ http, params, tenant, caller }: AnyCall): Promise<JobDetail> {
  const { id = "" } = params;
  const isId = /^\d{1,18}$/.test(id);
  const job = isId ? await readJobDetail(http.view, id) : undefined;
  const isHidden =
    job === undefined ||
    (tenant !== undefined && job.tenant !== tenant) ||
    (caller.role === "job" && caller.job !== job.id);
  if (isHidden) throw notFound("such job");
  return job;
}

/** Throws 404 for what is another tenant's. */
export function ownOnly<T extends { readonly tenant: string | null }>(
  { tenant }: AnyCall,
  thing: T | undefined,
  what: string,
): T {
  if (thing === undefined || (tenant !== undefined && thing.tenant !== tenant)) throw notFound(what);
  return thing;
}

/** What the caller may ask about: its own tenant, whatever it says. */
export function tenantOf(call: AnyCall, asked: string | undefined): string | undefined {
  if (call.tenant === undefined) return asked;
  // Another tenant's things are none to it, and it is not told that they exist.
  if (asked !== undefined && asked !== call.tenant) throw notFound("such tenant");
  return call.tenant;
}
