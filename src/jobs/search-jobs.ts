// Pages of jobs for people who look for some: by more than the client's list knows, without payloads, newest first. A question that would take too
// long is asked again of the newest ids alone, and says so.
import type { JobState } from "../core/job/states.js";
import type { Session } from "../db/session.js";
import type { Job } from "./read-jobs.js";

/** A job as a list shows it. */
export interface JobRow
  extends Pick<
    Job,
    | (
        | "id"
        | "state"
        | "kind"
        | "queue"
        | "tenant"
        | "priority"
        | "key"
        | "attempt"
        | "crashes"
        | "maxAttempts"
        | "worker"
      )
    | (
        | "createdAt"
        | "runAt"
        | "expireAt"
        | "startedAt"
        | "endedAt"
        | "cancelRequestedAt"
        | "batch"
        | "rerunOf"
        | "tags"
      )
  > {
  readonly error: { readonly [Part in "code" | "name" | "message"]: string | null } | null;
}

/** Checked by the caller; what is undefined is not asked for. */
export interface JobSearch {
  readonly states?: readonly JobState[] | undefined;
  readonly queue?: string | undefined;
  readonly kind?: string | undefined;
  readonly tenant?: string | undefined;
  readonly key?: string | undefined;
  readonly batch?: string | undefined;
  readonly errorCode?: string | undefined;
  readonly errorText?: string | undefined;
  readonly createdSince?: string | undefined;
  readonly createdUntil?: string | undefined;
  readonly endedSince?: string | undefined;
  readonly endedUntil?: string | undefined;
  /** JSON text. */
  readonly payload?: string | undefined;
  /** One of the job's. */
  readonly tag?: string | undefined;
  /** Only lower ids. */
  readonly before?: string | undefined;
  /** Only higher ids. */
  readonly after?: string | undefined;
  readonly limit: number;
}

const SHARED = `id, state, kind, queue, tenant, priority, key, attempt, crashes, max_attempts as "maxAttempts", worker, created_at as "createdAt",
  run_at as "runAt", expire_at as "expireAt", started_at as "startedAt", coalesce(tags, '{}') as tags`;
const LIVE = `${SHARED}, null::timestamptz as "endedAt", cancel_requested_at as "cancelRequestedAt", batch, rerun_of as "rerunOf", null::jsonb as error`;
const ENDED = `${SHARED}, ended_at as "endedAt", null::timestamptz as "cancelRequestedAt", batch, rerun_of as "rerunOf", case when error is not null then
  jsonb_build_object('code', error -> 'code', 'name', error -> 'name', 'message', left(error ->> 'message', 2000)) end as error`;
const WANTED = `($1::text[] is null or state = any ($1)) and ($2::text is null or queue = $2) and ($3::text is null or kind = $3)
  and ($4::text is null or tenant = $4) and ($5::text is null or key = $5) and ($6::bigint is null or batch = $6)
  and ($7::text is null or created_at >= $7::timestamptz) and ($8::text is null or created_at <= $8::timestamptz)
  and ($9::text is null or payload @> $9::jsonb) and ($10::bigint is null or id < $10) and ($11::bigint is null or id > $11)
  and ($19::text is null or tags @> array[$19])`;
const SEARCH = `select * from (
  (select ${LIVE} from fairmill.job where $13 and ${WANTED} order by id desc limit $12)
  union all
  (select ${ENDED} from fairmill.job_history where $14 and ${WANTED}
    and ($15::text is null or error ->> 'code' = $15) and ($16::text is null or strpos(error ->> 'message', $16) > 0)
    and ($17::text is null or ended_at >= $17::timestamptz) and ($18::text is null or ended_at <= $18::timestamptz)
   order by id desc limit $12)) as found order by id desc limit $12`;
const NEWEST = "select last_value::text as id from fairmill.job_id_seq";
const BY_ID = `select ${LIVE} from fairmill.job where id = any ($1) union all select ${ENDED} from fairmill.job_history where id = any ($1) order by id`;
const OF_WORKER = `select ${LIVE} from fairmill.job where id in (select c.id from fairmill.claimed_jobs($1, $2) c) order by id`;

const ENDED_STATES: readonly JobState[] = ["done", "dead", "cancelled"];

export function searchJobs(db: Session, search: JobSearch): Promise<JobRow[]> {
  const { states, errorCode, errorText, endedSince, endedUntil } = search;
  const isAboutEnds = [errorCode, errorText, endedSince, endedUntil].some((one) => one !== undefined);
  const wantsLive = !isAboutEnds && (states === undefined || states.some((one) => !ENDED_STATES.includes(one)));
  const wantsEnded = states === undefined || states.some((one) => ENDED_STATES.includes(one));
  const values = [states, search.queue, search.kind, search.tenant, search.key, search.batch, search.createdSince];
  const more = [search.createdUntil, search.payload, search.before, search.after, search.limit];
  const ends = [wantsLive, wantsEnded, errorCode, errorText, endedSince, endedUntil, search.tag];
  return db.query<JobRow>(
    SEARCH,
    [...values, ...more, ...ends].map((one) => one ?? null),
  );
}

export const readNewestId = async (db: Session): Promise<string> => (await db.query<{ id: string }>(NEWEST))[0]!.id;

export const readJobRows = async (db: Session, ids: readonly string[]): Promise<JobRow[]> =>
  ids.length === 0 ? [] : db.query<JobRow>(BY_ID, [ids]);

/** What a worker runs. */
export const readJobsOfWorker = (db: Session, worker: string, limit: number): Promise<JobRow[]> =>
  db.query<JobRow>(OF_WORKER, [worker, limit]);
