// The states that a job has been through, with times, and its attempts as bars.
import { Gantt, type GanttRow } from "../../charts/gantt";
import { now } from "../../data/clock";
import type { JobDetail } from "../../data/contract";
import { duration, full, moment, timeOf } from "../../format/times";
import { iconOf, toneOf } from "../../parts/badge";
import { Icon } from "../../parts/icon";

interface Stage {
  readonly state: string;
  readonly at: string | null;
  readonly label: string;
}

/** Passed stages with their times; the present one last. */
function stagesOf(job: JobDetail): Stage[] {
  const first = job.attempts[0]?.startedAt ?? job.startedAt;
  const stages: Stage[] = [{ state: "enqueued", at: job.createdAt, label: "enqueued" }];
  if (job.runAt && timeOf(job.runAt) > timeOf(job.createdAt) + 1000)
    stages.push({ state: "scheduled", at: job.runAt, label: "due" });
  if (first) stages.push({ state: "running", at: first, label: job.attempts.length > 1 ? "first started" : "started" });
  if (job.attempts.length > 1 && job.startedAt && job.startedAt !== first)
    stages.push({ state: "running", at: job.startedAt, label: `attempt ${job.attempt}` });
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
      {ahead.map((state) => (
        <li key={state} class="ahead">
          <span class="life-dot">
            <Icon name={iconOf(state)} small />
          </span>
          <span class="life-gap" />
          <span>{state}</span>
          <span class="quiet small">not yet</span>
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

export function AttemptsGantt({ job }: { job: JobDetail }) {
  const end = job.endedAt ? timeOf(job.endedAt) : now.value;
  const start = timeOf(job.createdAt);
  const first = job.attempts[0] ? timeOf(job.attempts[0].startedAt) : end;
  const rows: GanttRow[] = [
    {
      key: "wait",
      name: "waited",
      bars: first > start ? [{ from: start, to: first, tone: "w-ready", label: "waited", hatched: true }] : [],
    },
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
