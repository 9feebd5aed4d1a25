// A page of a job's log, as its reader asks for it and gets it.
import { checkJobId } from "../base/job-id.js";
import { limitOf } from "../base/page.js";
import { ifGiven, oneOf, refuseUnknown } from "../base/settings.js";
import { type Codec, openJson } from "../core/job/codec.js";
import type { Session } from "../db/session.js";
import { KEPT_LEVELS, type KeptLevel, readLogs } from "./log-statements.js";

export interface LogFilter {
  /** This level and those above it; default: all. */
  readonly level?: KeptLevel;
  /** Only lines behind this one: the last of the page before. */
  readonly after?: string;
  /** At most 1000; default 50. */
  readonly limit?: number;
}

export interface LogLine {
  readonly id: string;
  readonly at: Date;
  readonly level: KeptLevel;
  readonly attempt: number;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const LINES_MAX = 1_000;

export function checkLogFilter(filter: LogFilter): Required<LogFilter> {
  refuseUnknown(filter, ["level", "after", "limit"], "logs");
  const { level } = ifGiven("level", filter.level, (value) => oneOf(value, KEPT_LEVELS, "level", "logs"));
  const { after } = ifGiven("after", filter.after, checkJobId);
  return { level: level ?? "debug", after: after ?? "0", limit: limitOf(filter.limit, LINES_MAX) };
}

/** What cannot be opened is shown as such: a log is looked at when something is wrong already. */
export async function readLogPage(
  session: Session,
  job: { readonly id: string; readonly kind: string; readonly tenant: string },
  filter: Required<LogFilter>,
  codec: Codec | undefined,
): Promise<LogLine[]> {
  const levels = KEPT_LEVELS.slice(KEPT_LEVELS.indexOf(filter.level));
  const stored = await readLogs(session, job.id, { after: filter.after, levels, limit: filter.limit });
  return stored.map(({ line, ...rest }) => ({ ...rest, ...contentOf(opened(codec, line, job)) }));
}

function opened(codec: Codec | undefined, line: unknown, job: { kind: string; tenant: string }): unknown {
  try {
    return openJson(codec, line, job, "log");
  } catch {
    return { message: "(sealed)", fields: {} };
  }
}

function contentOf(line: unknown): Pick<LogLine, "message" | "fields"> {
  const { message, fields } = (line ?? {}) as { message?: unknown; fields?: unknown };
  return {
    message: typeof message === "string" ? message : "",
    fields:
      typeof fields === "object" && fields !== null && !Array.isArray(fields)
        ? (fields as Record<string, unknown>)
        : {},
  };
}
