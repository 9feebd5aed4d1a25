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

export const LifeLine = ({ job }: { job: JobDetail }) => {
  const stages = stagesOf(job);
  return (
    <ol class="life" aria-label="States so far">
      {stages.map((stage, index) => {
        const last = index === stages.length - 1;
        const before = stages[index - 1];
        return (
          <li key={`${stage.label}${stage.at}`} class={`tone-${toneOf(stage.state)} ${last ? "here" : ""}`}>
            {before && (
              <span class="life-gap">
                {stage.at && before.at
                  ? duration(timeOf(stage.at) - timeOf(before.at))
                  : before.at && !job.endedAt
                    ? duration(now.value - timeOf(before.at))
                    : ""}
              </span>
            )}
            <span class="life-dot">
              <Icon name={stage.state === "enqueued" ? "plus" : iconOf(stage.state)} small />
            </span>
            <strong>{stage.label}</strong>
            <span class="quiet small" title={full(stage.at)}>
              {stage.at ? moment(stage.at, now.value) : "now"}
            </span>
          </li>
        );
      })}
    </ol>
  );
};

const OUTCOME_TONES: Record<string, string> = {
  done: "c-done",
  running: "c-running",
  dead: "c-dead",
  failed: "c-dead",
  error: "c-dead",
  cancelled: "c-cancelled",
  snoozed: "c-scheduled",
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
          tone: OUTCOME_TONES[attempt.outcome] ?? "c-dead",
          label: `attempt ${attempt.attempt} on ${attempt.worker}, ${attempt.outcome}`,
        },
      ],
    })),
  ];
  return <Gantt rows={rows} from={start} to={end} label={`${job.attempts.length} attempts`} />;
}
