// Rows of jobs: in the list, of a worker, of a batch.
import type { JobRow } from "../../data/contract";
import { StateBadge } from "../../parts/badge";
import { Clip, Table } from "../../parts/table";
import { Ago, Since } from "../../parts/time";
import { link, withQuery } from "../../shell/route";

export interface JobTableProps {
  readonly rows: readonly JobRow[];
  readonly cursor?: string | null;
  readonly selected?: ReadonlySet<string>;
  readonly select?: (ids: ReadonlySet<string>) => void;
  readonly plain?: boolean;
}

export function JobTable({ rows, cursor, selected = new Set(), select, plain }: JobTableProps) {
  const filter = (name: string, value: string) =>
    plain ? link(["jobs"], { [name]: value }) : withQuery({ [name]: value });
  return (
    <Table
      label="Jobs"
      rows={rows}
      keyOf={(job) => job.id}
      cursor={cursor ?? null}
      selected={selected}
      columns={[
        select && {
          name: "Select",
          unseen: true,
          cell: (job) => <SelectBox job={job} selected={selected} select={select} />,
        },
        {
          name: "Job",
          cell: (job) => (
            <a class="mono" href={link(["jobs", job.id])}>
              {job.id}
            </a>
          ),
        },
        { name: "State", cell: (job) => <StateBadge state={job.state} /> },
        { name: "Kind", cell: (job) => <Clip text={job.kind} href={filter("kind", job.kind)} /> },
        { name: "Tenant", cell: (job) => <Clip text={job.tenant} href={filter("tenant", job.tenant)} /> },
        !plain && { name: "Queue", cell: (job) => <Clip text={job.queue} href={filter("queue", job.queue)} /> },
        !plain && { name: "Attempt", num: true, cell: (job) => `${job.attempt}/${job.maxAttempts}` },
        { name: "Enqueued", cell: (job) => <Ago at={job.createdAt} /> },
        {
          name: "Took",
          num: true,
          cell: (job) =>
            job.startedAt ? <Since at={job.startedAt} until={job.state === "running" ? null : job.endedAt} /> : "–",
        },
        { name: "What", rest: true, cell: (job) => <What job={job} plain={plain ?? false} /> },
      ]}
    />
  );
}

const SelectBox = ({
  job,
  selected,
  select,
}: {
  job: JobRow;
  selected: ReadonlySet<string>;
  select: (ids: ReadonlySet<string>) => void;
}) => (
  <input
    type="checkbox"
    aria-label={`Select job ${job.id}`}
    checked={selected.has(job.id)}
    onChange={() => select(toggled(selected, job.id))}
  />
);

export function toggled(selected: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(selected);
  if (!next.delete(id)) next.add(id);
  return next;
}

/** The one thing that matters about a job in its state. */
function What({ job, plain }: { job: JobRow; plain: boolean }) {
  if (job.error) return <Clip long text={`${job.error.code || job.error.name}: ${job.error.message}`} />;
  if (job.cancelRequestedAt) return <span class="muted">asked to cancel</span>;
  if (job.state === "scheduled" && job.runAt)
    return (
      <span class="muted">
        runs <Ago at={job.runAt} />
      </span>
    );
  if (job.state === "blocked") return <Clip long text={`waits for key ${job.key ?? ""}`} />;
  if (job.state === "running" && !plain) return <Clip text={`on ${job.worker ?? "?"}`} />;
  return job.key ? <Clip text={`key ${job.key}`} /> : null;
}
