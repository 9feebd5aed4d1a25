// The live view as lines of text: what happens now, and how tenants are served. Pure; no line is wider than the terminal.
import type { Figures } from "./figures.js";

export interface TopTenant {
  readonly tenant: string;
  readonly weight: number;
  readonly ready: { readonly count: number; readonly more: boolean };
  readonly running: { readonly count: number; readonly more: boolean };
}

export interface TopAlert {
  readonly severity: string;
  readonly message: string;
}

export interface TopInput {
  readonly figures: Figures;
  readonly tenants: readonly TopTenant[];
  readonly alerts: readonly TopAlert[];
  /** Where it looks: shown in the first line. */
  readonly where: string;
}

export interface TopTools {
  /** A table no wider than the terminal. */
  readonly table: (headings: readonly string[], rows: readonly (readonly string[])[]) => string;
  readonly span: (ms: number) => string;
  readonly line: (text: string) => string;
  readonly bold: (text: string) => string;
}

/** `rowsMax`: lines in all; tables are cut so that each shows something. */
export function topLines({ figures, tenants, alerts, where }: TopInput, rowsMax: number, tools: TopTools): string[] {
  const { table, span, line, bold } = tools;
  const { workers, queues, kinds, sums } = figures;
  const total = (pick: (queue: Figures["queues"][number]) => number) =>
    queues.reduce((sum, queue) => sum + pick(queue), 0);
  const atLeast = (isMore: boolean) => (isMore ? "+" : "");
  const capacity = workers.reduce((sum, worker) => sum + worker.capacity, 0);
  const running = total(({ running: count }) => count);
  const head = [
    bold(line(`fairmill top  ${figures.at.toISOString().slice(0, 19)}Z  ${where}`)),
    line(
      [
        `ready ${total(({ ready }) => ready)}${atLeast(queues.some(({ readyMore }) => readyMore))}`,
        `running ${running} of ${capacity}`,
        `scheduled ${total(({ scheduled }) => scheduled)}${atLeast(queues.some(({ scheduledMore }) => scheduledMore))}`,
        `blocked ${total(({ blocked }) => blocked)}${atLeast(queues.some(({ blockedMore }) => blockedMore))}`,
        `workers ${workers.length}`,
      ].join("   "),
    ),
    line(
      `last 5 min: ${(sums.processed / 300).toFixed(1)}/s done, ${sums.failed} failed, ${sums.dead} dead, ${sums.throttled} limited, ${sums.leasesLost} leases lost, ${sums.recovered} recovered`,
    ),
    ...alerts.slice(0, 3).map(({ severity, message }) => line(`${severity}: ${message}`)),
    ...(alerts.length > 3 ? [line(`and ${alerts.length - 3} more alerts: fairmill alerts`)] : []),
  ];
  const sections = [
    {
      headings: ["QUEUE", "READY", "RUNNING", "LATER", "BLOCKED", "WORKERS", "OLDEST"],
      rows: queues
        .toSorted((a, b) => b.ready - a.ready)
        .map((queue) => [
          queue.isPaused ? `${queue.queue} (paused)` : queue.queue,
          `${queue.ready}${atLeast(queue.readyMore)}`,
          String(queue.running),
          `${queue.scheduled}${atLeast(queue.scheduledMore)}`,
          `${queue.blocked}${atLeast(queue.blockedMore)}`,
          String(queue.workers),
          queue.oldestMs === null ? "" : span(queue.oldestMs),
        ]),
    },
    {
      headings: ["TENANT", "WEIGHT", "READY", "RUNNING", "SERVED", "SHARE", "WAIT", "ERRORS"],
      rows: tenantRows(figures, tenants, span),
    },
    {
      headings: ["KIND", "RUNS", "MEAN RUN", "MEAN WAIT", "ERRORS"],
      rows: kinds.map(({ kind, runs, runMs, waits, waitMs, failed }) => [
        kind,
        String(runs),
        runs > 0 ? span(runMs / runs) : "",
        waits > 0 ? span(waitMs / waits) : "",
        runs > 0 ? `${((failed / runs) * 100).toFixed(1)} %` : "",
      ]),
    },
    {
      headings: ["WORKER", "VERSION", "RUNNING", "DONE", "CPU", "MEMORY", "UP"],
      rows: workers.map((worker) => [
        worker.worker,
        worker.version ?? "",
        `${worker.running}/${worker.capacity}`,
        String(worker.processed),
        worker.cpu === null ? "" : `${Math.round(worker.cpu * 100)} %`,
        worker.memoryBytes === null ? "" : `${Math.round(worker.memoryBytes / 1e6)} MB`,
        span(worker.uptimeMs),
      ]),
    },
  ].filter(({ rows }) => rows.length > 0);
  const room = Math.max(sections.length, rowsMax - head.length - sections.length * 2);
  const lines = [...head];
  for (const [index, { headings, rows }] of sections.entries()) {
    const left = sections.length - index;
    const used = lines.length - head.length - index * 2;
    const share = Math.max(1, Math.floor((room - used) / left));
    lines.push("", ...table(headings, rows.slice(0, share)).split("\n"));
  }
  return lines.slice(0, rowsMax);
}

/** Those who were served or wait, most first; what each got of all that was claimed. */
function tenantRows(
  { tenants: served }: Figures,
  waiting: readonly TopTenant[],
  span: (ms: number) => string,
): string[][] {
  const known = new Map(served.map((one) => [one.tenant, one]));
  const claimed = served.reduce((sum, one) => sum + one.claimed, 0);
  const names = new Set([...waiting.map(({ tenant }) => tenant), ...known.keys()]);
  const rows = [...names].map((tenant) => ({
    tenant,
    now: waiting.find((one) => one.tenant === tenant),
    past: known.get(tenant),
  }));
  return rows
    .toSorted(
      (a, b) =>
        (b.past?.claimed ?? 0) - (a.past?.claimed ?? 0) || (b.now?.ready.count ?? 0) - (a.now?.ready.count ?? 0),
    )
    .map(({ tenant, now, past }) => [
      tenant,
      now === undefined ? "" : String(now.weight),
      now === undefined ? "" : `${now.ready.count}${now.ready.more ? "+" : ""}`,
      now === undefined ? "" : `${now.running.count}${now.running.more ? "+" : ""}`,
      String(past?.claimed ?? 0),
      claimed > 0 ? `${(((past?.claimed ?? 0) / claimed) * 100).toFixed(0)} %` : "",
      past !== undefined && past.waits > 0 ? span(past.waitMs / past.waits) : "",
      past !== undefined && past.runs > 0 ? `${((past.failed / past.runs) * 100).toFixed(1)} %` : "",
    ]);
}
