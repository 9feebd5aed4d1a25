// The states that a job has been through, with times, and its attempts as bars.
import { Gantt, type GanttRow } from "../../charts/gantt";
import { now } from "../../data/clock";
import type { JobDetail, Step } from "../../data/contract";
import { duration, full, moment, timeOf } from "../../format/times";
import { iconOf, toneOf } from "../../parts/badge";
import { Icon } from "../../parts/icon";
import { Ago } from "../../parts/time";

interface Stage {
  readonly state: string;
  readonly at: string | null;
  readonly label: string;
}

/** Passed stages with their times; the present one last. */
function stagesOf(job: JobDetail): Stage[] {
  const first = job.firstStartedAt ?? job.startedAt;
  const stages: Stage[] = [{ state: "enqueued", at: job.createdAt, label: "enqueued" }];
  // Once it has run, its time to run is that of a later attempt.
  if (job.runAt && !first && timeOf(job.runAt) > timeOf(job.createdAt) + 1000 && job.state !== "scheduled")
    stages.push({ state: "scheduled", at: job.runAt, label: "due" });
  if (first) stages.push({ state: "running", at: first, label: "started" });
  if (first && job.startedAt && timeOf(job.startedAt) > timeOf(first))
    stages.push({
      state: "running",
      at: job.startedAt,
      label: job.attempts.length > 1 ? `attempt ${job.attempt}` : "went on",
    });
  if (job.state !== "running" || !first) stages.push({ state: job.state, at: job.endedAt, label: job.state });
  return stages;
}

/** What usually comes next; drawn pale. */
const FUTURE: Record<string, readonly string[]> = {
  scheduled: ["ready", "running", "done"],
  blocked: ["ready", "running", "done"],
  ready: ["running", "done"],
  running: ["done"],
};

export const LifeLine = ({ job }: { job: JobDetail }) => {
  const stages = stagesOf(job);
  const ahead = FUTURE[job.state] ?? [];
  return (
    <ol class="life" aria-label="States of the job">
      {stages.map((stage, index) => {
        const next = stages[index + 1];
        const until = next ? timeOf(next.at ?? job.endedAt) : job.endedAt ? Number.NaN : now.value;
        const gap = Number.isFinite(until)
          ? until - timeOf(stage.at)
          : next
            ? now.value - timeOf(stage.at)
            : Number.NaN;
        return (
          <li key={`${stage.label}${stage.at}`} class={`tone-${toneOf(stage.state)} ${next ? "" : "here"}`}>
            <span class="life-dot">
              <Icon name={stage.state === "enqueued" ? "plus" : iconOf(stage.state)} small />
            </span>
            <span class="life-gap">
              {next || ahead.length > 0
                ? Number.isFinite(gap) && gap >= 0 && !(stage.at === null)
                  ? duration(gap)
                  : ""
                : ""}
            </span>
            <strong>{stage.label}</strong>
            <span class="quiet small" title={full(stage.at)}>
              {stage.at ? moment(stage.at, now.value) : "now"}
            </span>
          </li>
        );
      })}
      {ahead.map((state, index) => (
        <li key={state} class="ahead">
          <span class="life-dot">
            <Icon name={iconOf(state)} small />
          </span>
          <span class="life-gap" />
          <span>{state}</span>
          <span class="quiet small">
            {index === 0 && job.state === "scheduled" && job.runAt ? <Ago at={job.runAt} /> : "not yet"}
          </span>
        </li>
      ))}
    </ol>
  );
};

const OUTCOME_TONES: Record<string, string> = {
  done: "f-done",
  running: "f-running",
  dead: "f-dead",
  failed: "f-dead",
  error: "f-dead",
  cancelled: "f-cancelled",
  snoozed: "f-scheduled",
};

/** Sleeps and waits for signals hold no worker: they lie between the bars of the runs. */
function sleepsOf(steps: readonly Step[], end: number): GanttRow[] {
  const bars = steps
    .filter(({ kind, position }) => kind !== "run" && position !== null)
    .map((step) => ({
      from: timeOf(step.startedAt),
      to: step.finishedAt ? timeOf(step.finishedAt) : end,
      tone: "w-sleep",
      label: step.name,
    }));
  return bars.length === 0 ? [] : [{ key: "slept", name: "slept", bars }];
}

export function AttemptsGantt({ job, steps }: { job: JobDetail; steps: readonly Step[] }) {
  const end = job.endedAt ? timeOf(job.endedAt) : now.value;
  const start = timeOf(job.createdAt);
  const first = job.firstStartedAt ? timeOf(job.firstStartedAt) : end;
  const rows: GanttRow[] = [
    {
      key: "wait",
      name: "waited",
      bars: first > start ? [{ from: start, to: first, tone: "w-ready", label: "waited", hatched: true }] : [],
    },
    ...sleepsOf(steps, end),
    ...job.attempts.map((attempt) => ({
      key: `a${attempt.attempt}.${attempt.leaseNo}`,
      name: `${attempt.attempt} · ${attempt.outcome}`,
      bars: [
        {
          from: timeOf(attempt.startedAt),
          to: attempt.endedAt ? timeOf(attempt.endedAt) : end,
          tone: OUTCOME_TONES[attempt.outcome] ?? "f-dead",
          label: `attempt ${attempt.attempt} on ${attempt.worker}, ${attempt.outcome}`,
        },
      ],
    })),
  ];
  return <Gantt rows={rows} from={start} to={end} label={`${job.attempts.length} attempts`} />;
}
