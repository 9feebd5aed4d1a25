// The ceiling: what a careful person writes by hand for one table, with no retries, leases, tenants, history or limits. It shows
// how much of the machine's speed Fairmill's guarantees cost. Same interface as the other adapters.
import pg from "pg";

export const store = "pg";
export const drainJobs = 100_000;
export const modes = {
  default: { notify: true, batch: 500, loops: 2, pollMs: 1000 },
  drain: { notify: false, batch: 2000, loops: 3, pollMs: 50 },
  lowlat: { notify: true, batch: 100, loops: 2, pollMs: 1000 },
  steady: { notify: true, batch: 500, loops: 2, pollMs: 1000 },
};

const CREATE = `
  create table job (
    id bigint generated always as identity primary key,
    state smallint not null default 0,
    attempt smallint not null default 0,
    created_at timestamptz not null default now(),
    started_at timestamptz,
    payload jsonb not null);
  create index job_ready on job (id) where state = 0`;
const INSERT = "insert into job (payload) select value from jsonb_array_elements($1::jsonb)";
const INSERT_AND_NOTIFY = `with stored as (${INSERT}) select pg_notify('job', '')`;
const CLAIM = `
  update job set state = 1, attempt = attempt + 1, started_at = now()
  where id = any (array(select id from job where state = 0 order by id limit $1 for update skip locked))
  returning id, payload`;
const DONE = "delete from job where id = any ($1::bigint[])";

function open(url, max) {
  const pool = new pg.Pool({ connectionString: url, max });
  // An idle connection that breaks is no news: the next query says so.
  pool.on("error", () => {});
  return pool;
}

export async function setup(ctx) {
  const pool = open(ctx.url, 1);
  await pool.query(CREATE);
  await pool.end();
}

export async function producer(ctx, mode) {
  const pool = open(ctx.url, 20);
  const text = mode.notify ? INSERT_AND_NOTIFY : INSERT;
  const store = (jobs) => pool.query({ name: "insert", text, values: [JSON.stringify(jobs)] });
  return { enqueue: (job) => store([job]), enqueueBulk: store, close: () => pool.end() };
}

export async function startWorker(ctx, mode, run) {
  const pool = open(ctx.url, mode.loops);
  const bell = new EventTarget();
  const ear = mode.notify ? await listen(ctx.url, () => bell.dispatchEvent(new Event("ring"))) : undefined;
  let stopping = false;
  const loop = async () => {
    while (!stopping) {
      // Listens before it looks: a notification between the look and the sleep must not be lost.
      const rung = nextRing(bell, mode.pollMs);
      const { rows } = await pool.query({ name: "claim", text: CLAIM, values: [mode.batch] });
      if (rows.length === 0 && !stopping) await rung.wait();
      rung.forget();
      if (rows.length === 0) continue;
      for (const row of rows) run(row.payload);
      await pool.query({ name: "done", text: DONE, values: [rows.map((row) => row.id)] });
    }
  };
  const loops = Promise.all(Array.from({ length: mode.loops }, loop));
  return {
    stop: async () => {
      stopping = true;
      bell.dispatchEvent(new Event("ring"));
      await loops;
      await ear?.end();
      await pool.end();
    },
  };
}

async function listen(url, onNotification) {
  const ear = new pg.Client(url);
  ear.on("error", () => {});
  await ear.connect();
  ear.on("notification", onNotification);
  await ear.query("listen job");
  return ear;
}

function nextRing(bell, pollMs) {
  let ring;
  const rung = new Promise((resolve) => {
    ring = resolve;
  });
  bell.addEventListener("ring", ring, { once: true });
  let timer;
  return {
    wait: () => {
      timer = setTimeout(ring, pollMs);
      return rung;
    },
    forget: () => {
      clearTimeout(timer);
      bell.removeEventListener("ring", ring);
    },
  };
}

export const pending = async (_ctx, server) => Number((await server.query("select count(*) from job")).rows[0].count);
