// Who did what: an action of a person is recorded before it happens, and its outcome after. Where the record cannot be written, nothing happens.
import { userInfo } from "node:os";
import { FairmillError } from "../base/errors.js";
import { nameOf } from "../base/settings.js";
import type { Session } from "../db/session.js";

export type AuditVia = "http" | "cli" | "library";
export type AuditOutcome = "done" | "refused" | "failed";

/** Who acts, and by which way. */
export interface Actor {
  readonly name: string;
  readonly via: AuditVia;
  readonly role?: string | undefined;
}

export interface Action {
  /** Thing and verb: "job.cancel". */
  readonly action: string;
  /** The thing: "job 17". */
  readonly subject: string;
  readonly tenant?: string | null | undefined;
  readonly detail?: Readonly<Record<string, unknown>> | undefined;
}

/** One action of a person, as it is kept. */
export interface AuditEvent {
  readonly id: string;
  readonly at: Date;
  readonly actor: string;
  readonly role: string | null;
  readonly via: AuditVia;
  readonly action: string;
  readonly subject: string;
  readonly tenant: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
  /** null: the process ended before it could say. */
  readonly outcome: AuditOutcome | null;
  readonly error: string | null;
}

export interface AuditFilter {
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly subject?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly before?: string | undefined;
  readonly limit: number;
}

const RECORD = "select fairmill.record_action_v1($1, $2, $3, $4, $5, $6, $7) as id";
const CONCLUDE = "select fairmill.conclude_action_v1($1, $2, $3, $4)";
const LIST = `select id, at, actor, role, via, action, subject, tenant, detail, outcome, error from fairmill.audit_event
  where ($1::text is null or actor = $1) and ($2::text is null or action = $2) and ($3::text is null or subject = $3)
    and ($4::text is null or at >= $4::timestamptz) and ($5::text is null or at <= $5::timestamptz) and ($6::bigint is null or id < $6)
  order by id desc limit $7`;

/** What fits into the record: a larger detail is left out, and says so. */
const DETAIL_CHARACTERS_MAX = 12_000;

const detailText = (detail: Action["detail"]): string => {
  const text = JSON.stringify(detail ?? {});
  return text.length <= DETAIL_CHARACTERS_MAX ? text : JSON.stringify({ leftOut: `${text.length} characters` });
};

/** A text that the database keeps: no zero bytes, no half characters, cut to a number of bytes. */
function kept(text: string, bytesMax: number): string {
  const clean = text.replaceAll("\0", "\uFFFD").toWellFormed();
  const cut = Buffer.from(clean).subarray(0, bytesMax).toString();
  return cut.length < clean.length ? cut.replace(/\uFFFD$/, "") : cut;
}

/** Says what came of a recorded action. It never throws: what is missing then reads as "not known". */
export type Conclude = (outcome: AuditOutcome, error?: unknown) => Promise<void>;

/** Records an action before it happens. */
export async function recordAction(db: Session, actor: Actor, action: Action): Promise<Conclude> {
  const [row] = await db.query<{ id: string }>(RECORD, [
    kept(actor.name, 200),
    actor.via,
    action.action,
    kept(action.subject, 400),
    action.tenant ?? null,
    actor.role ?? null,
    detailText(action.detail),
  ]);
  return async (outcome, error) => {
    const why =
      error === undefined ? null : error instanceof FairmillError ? `${error.code}: ${error.message}` : "a fault";
    await db.query(CONCLUDE, [row!.id, outcome, why && kept(why, 2_000), "{}"]).catch(() => {});
  };
}

/** Does `work` under a record. The record is there before the work begins; its outcome follows. */
export async function audited<T>(db: Session, actor: Actor, action: Action, work: () => Promise<T>): Promise<T> {
  const conclude = await recordAction(db, actor, action);
  try {
    const value = await work();
    await conclude("done");
    return value;
  } catch (error) {
    await conclude(error instanceof FairmillError ? "refused" : "failed", error);
    throw error;
  }
}

/** A page of actions, newest first. */
export const readAudit = (db: Session, filter: AuditFilter): Promise<AuditEvent[]> =>
  db.query<AuditEvent>(LIST, [
    filter.actor ?? null,
    filter.action ?? null,
    filter.subject ?? null,
    filter.since ?? null,
    filter.until ?? null,
    filter.before ?? null,
    filter.limit,
  ]);

/** Who sits at the command line: what `--by` says, or the user of the operating system. */
export function cliActor(by: string | undefined): Actor {
  return { name: by === undefined ? osUser() : nameOf(by, "--by"), via: "cli" };
}

function osUser(): string {
  try {
    return userInfo().username || "unknown";
  } catch {
    // A user id without a name, as in some containers.
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
