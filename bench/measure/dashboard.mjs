// How soon the dashboard shows something with a million jobs: in a real browser, from the address to the first data on the screen; and how long the answers take.
import { fileURLToPath } from "node:url";
import { serving } from "../serving.mjs";
import { median, now } from "../statistics.mjs";
import { fairmill } from "../systems.mjs";

const PAINT_MS_MAX = 1_000;
const ROUNDS = 5;
const SCREENS = {
  now: "#/now",
  jobs: "#/jobs",
  "dead jobs": "#/jobs?state=dead",
  tenants: "#/tenants",
  queues: "#/queues",
  errors: "#/errors",
  workers: "#/workers",
};
const LIVE = `insert into fairmill.job (kind, queue, tenant, key, payload, state, run_at, aside)
  select 'kind' || n % 7, 'queue' || n % 3, 'tenant' || n % 50, 'key' || n % 1000, jsonb_build_object('n', n), case when n % 10 = 0 then 'scheduled' else 'ready' end,
    case when n % 10 = 0 then now() + interval '1 day' end, case when n % 10 = 0 then 'scheduled' end from generate_series(1, $1::integer) n`;
const ENDED = `with made as (select nextval('fairmill.job_id_seq') as id, n from generate_series(1, $1::integer) n)
  insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, worker, created_at, started_at, ended_at, payload, error)
  select id, 4294967296, 0, 1, 0, 3, case when n % 5 = 0 then 'dead' else 'done' end, 'queue' || n % 3, 'tenant' || n % 50, 'kind' || n % 7, 'w', now() - interval '1 hour',
    now() - interval '1 hour', now(), '{}', case when n % 5 = 0 then jsonb_build_object('name', 'Error', 'code', 'E' || n % 20, 'message', 'failed at ' || n) end from made`;

export async function measure(bench) {
  const jobs = bench.size(1_000_000);
  const { createJiti } = await import("jiti");
  const { openBrowser } = await createJiti(import.meta.url).import(
    fileURLToPath(new URL("../../test/dashboard/fixture/browser.ts", import.meta.url)),
  );
  const { default: pg } = await import("pg");
  return bench.server.withDatabase(fairmill, {}, async ({ url }) => {
    bench.say(`storing ${jobs} jobs, half of them ended`);
    const client = new pg.Client(url);
    await client.connect();
    await client.query(LIVE, [jobs / 2]);
    await client.query(ENDED, [jobs / 2]);
    await client.query("vacuum analyze fairmill.job");
    await client.query("vacuum analyze fairmill.job_history");
    await client.end();
    return serving(bench, url, async (address) => {
      const browser = await openBrowser();
      try {
        const rows = [];
        for (const [name, hash] of Object.entries(SCREENS))
          rows.push(await screen(bench, browser, address, name, hash));
        const slow = rows.filter((row) => row["first data, ms"] > PAINT_MS_MAX);
        return {
          tables: [
            {
              title: `The dashboard with ${jobs.toLocaleString("en")} jobs`,
              about:
                "From the address to the first data on the screen, in a new page of a real browser; medians. The slowest answer that the screen asked for.",
              rows,
            },
          ],
          problems: bench.quick
            ? []
            : slow.map(
                (row) =>
                  `${row[""]}: first data after ${Math.round(row["first data, ms"])} ms; ${PAINT_MS_MAX} are promised`,
              ),
        };
      } finally {
        await browser.close();
      }
    });
  });
}

async function screen(bench, browser, address, name, hash) {
  bench.say(`looking at ${name}`);
  const [paints, answers] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
    const asked = new Map();
    page.on("request", (request) => asked.set(request, now()));
    page.on("response", (response) => {
      if (response.url().includes("/api/v1/") && !response.url().endsWith("/events"))
        answers.push(now() - asked.get(response.request()));
    });
    const fromMs = now();
    await page.goto(`${address}/${hash}`);
    await page.waitForFunction(() =>
      document.querySelector(
        "main .stats, main tbody td, main .lane, main .error-group, main .worker-grid li, main .empty",
      ),
    );
    paints.push(now() - fromMs);
    await page.close();
  }
  return { "": name, "first data, ms": median(paints), "slowest answer, ms": Math.max(...answers) };
}
