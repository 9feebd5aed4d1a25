// One job: what it is, why it waits or what it did, where its time went, and what can be done about it.

import type { JobDetail, Step, Why } from "../../data/contract";
import { isLive } from "../../data/job-states";
import { useResource } from "../../data/resource";
import { segment } from "../../data/segment";
import { may, me } from "../../data/session";
import { count } from "../../format/numbers";
import { duration } from "../../format/times";
import { Action, act } from "../../parts/action";
import { StateBadge } from "../../parts/badge";
import { cli } from "../../parts/copy";
import { Json } from "../../parts/json";
import { Loaded } from "../../parts/loaded";
import { Panel } from "../../parts/panel";
import { Notice } from "../../parts/states";
import { Page } from "../../shell/page";
import { link } from "../../shell/route";
import { useShortcuts } from "../../shell/shortcuts";
import { TimeBar, TimeLegend } from "../time-bar";
import { JobFacts } from "./job-facts";
import { AttemptsGantt, LifeLine } from "./life";
import { LogsPanel } from "./logs";
import { RerunButton } from "./rerun";
import { StepsPanel } from "./steps";
import { WhyPanel } from "./why-panel";

export function JobView({ id }: { id: string }) {
  const path = `jobs/${segment(id)}`;
  const job = useResource<JobDetail>(path, ["jobs"]);
  const why = useResource<Why>(`${path}/why`, ["jobs", "limits", "workers"]);
  const steps = useResource<{ items: Step[] }>(`${path}/steps`, ["jobs"]);
  const retry = () => act<{ answer: string }>("POST", `${path}/retry`, {}, ({ answer }) => `Job ${id} is ${answer}`);
  useShortcuts(
    may("operator") && job.data && canRetry(job.data.state) ? [{ key: "r", does: "Retry the job", act: retry }] : [],
  );
  return (
    <Page
      title={`Job ${id}`}
      heading={
        <span class="row wraps">
          <span>
            Job <span class="mono">{id}</span>
          </span>
          {job.data && <StateBadge state={job.data.state} />}
        </span>
      }
      about={job.data && `${job.data.kind} for ${job.data.tenant}, in ${job.data.queue}`}
      json={path}
      cli={cli(["job", id])}
      back={{ href: "#/jobs", name: "Jobs" }}
      actions={job.data && <JobActions job={job.data} path={path} why={why.data} />}
    >
      <Loaded from={job} rows={10}>
        {(detail) => (
          <>
            <Panel>
              <LifeLine job={detail} />
            </Panel>
            {detail.sealed && (
              <Notice icon="lock" tone="blocked">
                The payload is encrypted and this server has no key for it.
              </Notice>
            )}
            <div class="grid wide-left">
              <div class="stack">
                {detail.error && <ErrorPanel job={detail} />}
                {isLive(detail.state) && (
                  <WhyPanel why={why} title={detail.state === "running" ? "On its way" : "Why is it waiting?"} />
                )}
                {detail.attempts.length > 0 && (
                  <Panel
                    title="Attempts"
                    note={`${detail.attempt} of ${detail.maxAttempts}${detail.crashes > 0 ? `, ${count(detail.crashes)} crashed` : ""}`}
                  >
                    <AttemptsGantt job={detail} steps={steps.data?.items ?? []} />
                    <Failures job={detail} />
                  </Panel>
                )}
                <StepsPanel steps={steps} />
                {me.value?.features.logs !== false && <LogsPanel path={path} />}
                <Panel title="Payload" note={detail.redacted ? "redacted by rule" : undefined}>
                  <Json value={detail.payload} label="Payload" />
                </Panel>
                {detail.result !== null && (
                  <Panel title="Result">
                    <Json value={detail.result} label="Result" />
                  </Panel>
                )}
                {detail.progress !== null && (
                  <Panel title="Progress">
                    <Json value={detail.progress} label="Progress" />
                  </Panel>
                )}
              </div>
              <div class="stack">
                <TimePanel job={detail} />
                <Panel title="Facts">
                  <JobFacts job={detail} />
                </Panel>
              </div>
            </div>
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** A pause holds it, and no person has let it through yet. */
const isHeldByPause = (why: Why | undefined): boolean =>
  why?.checks.some(({ check, passed }) => check === "paused" && !passed) ?? false;

/** One that is ready or blocked is on its way already: there is nothing to try again. */
const canRetry = (state: JobDetail["state"]): boolean => ["scheduled", "dead", "cancelled"].includes(state);

const JobActions = ({ job, path, why }: { job: JobDetail; path: string; why: Why | undefined }) => (
  <>
    {isHeldByPause(why) && (
      <Action
        label="Run though paused"
        icon="play"
        path={`${path}/run-now`}
        confirm="It starts once although something of it is paused. Its other limits hold, and the other jobs stay."
        done={({ answer }) => `Job ${job.id} is ${answer}`}
      />
    )}
    {canRetry(job.state) && (
      <Action
        label={job.state === "scheduled" ? "Run now" : "Retry"}
        icon="retry"
        path={`${path}/retry`}
        body={{}}
        kind="primary"
        done={({ answer }) => `Job ${job.id} is ${answer}`}
      />
    )}
    {isLive(job.state) && (
      <Action
        label="Cancel"
        icon="slash"
        kind="danger"
        path={`${path}/cancel`}
        confirm={
          job.state === "running"
            ? "It runs now: its handler is asked to stop, and decides."
            : "It will not run. It can be retried later."
        }
        done={({ answer }) => (answer === "requested" ? "The handler was asked to stop" : `Job ${job.id}: ${answer}`)}
      />
    )}
    <RerunButton job={job} path={path} />
  </>
);

function TimePanel({ job }: { job: JobDetail }) {
  const { spent } = job;
  const [limits, worker] = [spent.limitedMs ?? 0, spent.unservedMs ?? 0];
  const parts = {
    delayed: spent.delayedMs,
    turn: Math.max(0, spent.waitedMs - limits - worker),
    limits,
    worker,
    ran: spent.ranMs,
    slept: spent.sleptMs,
    retried: spent.retriedMs,
  };
  return (
    <Panel title="Where the time went" note={duration(spent.totalMs)}>
      <div class="stack tight">
        <TimeBar parts={parts} label="Time of this job" />
        <TimeLegend parts={parts} />
      </div>
    </Panel>
  );
}

const ErrorPanel = ({ job }: { job: JobDetail }) => (
  <Panel title="Error" note={String(job.error?.code ?? job.error?.name ?? "")}>
    <div class="stack tight">
      <p class="wrap">
        <strong>{job.error?.message}</strong>
      </p>
      {job.error?.stack && <Json value={job.error.stack} label="Stack" />}
      <a
        class="small"
        href={link(["jobs"], {
          kind: job.kind,
          state: "dead",
          ...(job.error?.code ? { errorCode: String(job.error.code) } : {}),
        })}
      >
        Others like this
      </a>
    </div>
  </Panel>
);

const Failures = ({ job }: { job: JobDetail }) => (
  <ul class="failures">
    {job.attempts
      .filter((attempt) => attempt.error)
      .map((attempt) => (
        <li key={`${attempt.attempt}.${attempt.leaseNo}`} class="small">
          <span class="quiet">{attempt.attempt}</span>
          <span class="wrap">
            {attempt.dropped > 0 && `(${count(attempt.dropped)} before it are not kept) `}
            {attempt.error?.message}
          </span>
          <span class="quiet push clip" title={attempt.worker}>
            {attempt.worker}
          </span>
        </li>
      ))}
  </ul>
);
