// What must hold when all is over, and what C10 asks of the run as a whole. Each answers with sentences: none means that it holds.
import { systemClock } from "../dist/base/clock.js";
import { Database } from "../dist/db/database.js";
import { verify } from "../dist/verify/verify.js";
import { DEADLY, SENDING } from "./jobs.mjs";
import { CAPPED, TENANTS } from "./load.mjs";
import { judgeWitness, mostRunning } from "./witness.mjs";

const MINUTE_MS = 60_000;
/** C10, as the paper has it. */
const EXIT = { lockedMsMax: 5 * MINUTE_MS, tickMsMax: 30_000 };
/** A backlog of so many seconds of the load is bounded, whatever it was before. */
const BACKLOG_S = 10;
const SHOWN_MAX = 10;

const shown = (list) => `${list.slice(0, SHOWN_MAX).join(", ")}${list.length > SHOWN_MAX ? ", …" : ""}`;
const said = (list, sentence) => (list.length === 0 ? [] : [`${sentence}: ${shown(list)}`]);

/** I1, P2: acknowledged = ended, each as its kind must; nothing that was never asked for. */
function judgeEnds(rows, { acknowledged, unknown, batches }) {
  const ended = new Map(rows.map((row) => [row.id, row]));
  const lost = [...acknowledged.keys()].filter((id) => !ended.has(id));
  const wrong = rows.filter(({ kind, state }) => state !== (DEADLY.includes(kind) ? "dead" : "done"));
  const unasked = rows.filter(({ id, kind }) => !acknowledged.has(id) && !["page", "bound"].includes(kind));
  const callbacks = rows.filter(({ kind }) => kind === "bound").length;
  return [
    ...said(lost, "I1: acknowledged, and not there"),
    ...said(
      wrong.map(({ id, kind, state, error }) => `${kind} ${id} is ${state} (${error ?? "no error"})`),
      "P2: not ended as it must",
    ),
    ...(unasked.length > unknown.jobs
      ? [`I1: ${unasked.length} jobs that no answer named, and only ${unknown.jobs} were uncertain`]
      : []),
    ...(callbacks < batches || callbacks > batches + unknown.calls
      ? [`P8: ${callbacks} callbacks of ${batches} batches and ${unknown.calls} uncertain calls`]
      : []),
  ];
}

/** I4, C7: what was sent is what the receiver has; what it has was committed; a key means one body. */
export function judgeOutbox(rows, ended, { applied, changed }) {
  const keys = new Set(rows.map(({ key }) => key));
  const silent = ended.filter(
    ({ id, kind, state }) => state === "done" && SENDING.includes(kind) && !keys.has(`${kind} ${id}`),
  );
  return [
    ...said(
      silent.map(({ id, kind }) => `${kind} ${id}`),
      "I4: done, and its message is not there",
    ),
    ...said(
      rows
        .filter(({ key, status }) => status !== "sent" || !applied.has(key))
        .map(({ key, status }) => `${key} is ${status}`),
      "P5: not delivered",
    ),
    ...said(
      [...applied.keys()].filter((key) => !keys.has(key)),
      "I4: delivered, and never committed",
    ),
    ...said(changed, "I4: one key, two bodies"),
  ];
}

/** C10: what the looks during the run say. `perSecond` is the load. While processes are killed a queue may grow, as long as it empties afterwards. */
export function judgeRun({ looks, tenants, tickMs, perSecond, isCalm }) {
  const quarter = Math.floor(looks.length / 4);
  const mean = (list) => list.reduce((sum, { depth }) => sum + depth, 0) / Math.max(1, list.length);
  const early = mean(looks.slice(quarter, 2 * quarter));
  const late = mean(looks.slice(-quarter || undefined));
  const lockedMs = Math.max(0, ...looks.map((look) => look.lockedMs));
  const unserved = TENANTS.filter((tenant) => !tenants.has(tenant));
  return [
    ...(looks.some(({ duplicates }) => duplicates > 0) ? ["C10: a message has two deliveries in the outbox"] : []),
    ...(lockedMs > EXIT.lockedMsMax ? [`C10: a job was locked for ${Math.round(lockedMs / 1000)} s`] : []),
    ...(isCalm && late > Math.max(2 * early, BACKLOG_S * perSecond)
      ? [`C10: the queue grows: ${Math.round(early)} waited in the second quarter, ${Math.round(late)} in the last`]
      : []),
    ...said(unserved, "C10: tenants that were not served"),
    ...(tickMs > EXIT.tickMsMax ? [`C10: ticks took ${Math.round(tickMs)} ms on average`] : []),
  ];
}

const ENDED = `select id::text, kind, state, error ->> 'message' as error from fairmill.job_history where outbox is null`;
const OUTBOX = "select idempotency_key as key, status from fairmill.outbox";
const BOOKED = `
  select h.id::text from fairmill.job_history h left join public.booking b on b.job = h.id
  where h.kind = 'booked' and h.state = 'done' group by h.id having count(b.job) <> 1`;
const TICKS = `select coalesce(avg(tick_duration_ms), 0)::float8 as "tickMs", count(*)::integer as ticks
  from fairmill.worker_tick_metrics where mode = 'tick'`;

/** Asked when no job is left and all processes have ended. */
export async function check({ databaseUrl, observer, load, receiver, actors, perSecond, isCalm }) {
  const ended = await observer.query(ENDED);
  const { transitions, problems } = judgeWitness(
    await observer.query("select job::text, is_now, lease_no::text from public.witness order by n"),
  );
  const [{ tickMs, ticks }] = await observer.query(TICKS);
  const tenants = new Set(
    (await observer.query("select distinct tenant from fairmill.job_history where state = 'done'")).map(
      (row) => row.tenant,
    ),
  );
  const overCap = (await observer.query(mostRunning("tenant"))).filter(
    ({ name, most }) => name === CAPPED.tenant && most > CAPPED.maxRunning,
  );
  const overKey = (await observer.query(mostRunning("limit_key"))).filter(({ most }) => most > 1);
  const booked = await observer.query(BOOKED);
  const { looks } = observer;
  return {
    figures: {
      jobs: ended.length,
      acknowledged: load.acknowledged.size,
      uncertain: load.unknown.calls,
      messages: receiver.applied.size,
      repeats: [...receiver.applied.values()].reduce((sum, { times }) => sum + times - 1, 0),
      transitions,
      ticks,
      tickMs,
      lockedMs: Math.max(0, ...looks.map((look) => look.lockedMs)),
      depthMax: Math.max(0, ...looks.map(({ depth }) => depth)),
      looks: looks.length,
    },
    problems: [
      ...said(load.refused, "an enqueue was refused"),
      ...judgeEnds(ended, load),
      ...problems,
      ...judgeOutbox(await observer.query(OUTBOX), ended, receiver),
      ...judgeRun({ looks, tenants, tickMs, perSecond, isCalm }),
      ...said(
        [...overCap, ...overKey].map(({ name, most }) => `${name}: ${most}`),
        "P6: more ran at once than may",
      ),
      ...said(
        booked.map(({ id }) => id),
        "P3: done, and not booked exactly once",
      ),
      ...(await verified(databaseUrl)),
      ...said([...actors.refused], "a process could not start"),
      ...said(actors.unhandled, "I12: a promise that nothing caught"),
    ],
  };
}

async function verified(databaseUrl) {
  const db = new Database({ databaseUrl }, { connectionsMax: 1, applicationName: "chaos verify" });
  try {
    const answers = await verify(db, { clock: systemClock });
    return answers.flatMap(({ id, sentence, broken, unanswered }) => [
      ...said(broken, `${id}: ${sentence}: broken by`),
      ...(unanswered.length > 0 ? [`${id}: ${sentence}: a part could not be asked in time`] : []),
    ]);
  } finally {
    await db.close();
  }
}
