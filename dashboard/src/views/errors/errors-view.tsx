// Errors: dead jobs grouped by fingerprint, largest first; each group can be retried as a whole.
import { useState } from "preact/hooks";
import { Sparkline } from "../../charts/sparkline";
import { now } from "../../data/clock";
import type { Count, ErrorGroup, Notice } from "../../data/contract";
import { useResource } from "../../data/resource";
import { may } from "../../data/session";
import { count } from "../../format/numbers";
import { apiQuery, FilterField } from "../../parts/filters";
import { Icon } from "../../parts/icon";
import { Loaded } from "../../parts/loaded";
import { ListNotice } from "../../parts/pager";
import { Panel } from "../../parts/panel";
import { Empty } from "../../parts/states";
import { Ago } from "../../parts/time";
import { Page } from "../../shell/page";
import { link, route, withQuery } from "../../shell/route";
import { useFacets } from "../facets";
import { PreviewDialog } from "../jobs/bulk-bar";
import { jobsCommand } from "../jobs/job-filter";

const SPANS = { "1h": 3_600_000, "24h": 86_400_000, "7d": 604_800_000 } as const;
const openedAt = now.peek();

export function ErrorsView() {
  const span = (route.value.query.get("span") ?? "24h") as keyof typeof SPANS;
  const since: Record<string, string> =
    span === "24h" || !Object.hasOwn(SPANS, span)
      ? {}
      : { since: new Date(Math.floor((openedAt - SPANS[span]) / 60_000) * 60_000).toISOString() };
  const path = `errors${apiQuery(["queue", "kind", "tenant", "state"], since)}`;
  const errors = useResource<{ items: ErrorGroup[]; looked: Count; notice: Notice | null }>(path, ["jobs"]);
  const facets = useFacets();
  return (
    <Page
      title="Errors"
      json={path}
      cli={jobsCommand(["jobs"], { state: "dead" })}
      about="Jobs that died, grouped by what went wrong."
      actions={
        <nav class="tabs" aria-label="Span of time">
          {Object.keys(SPANS).map((one) => (
            <a
              key={one}
              href={withQuery({ span: one === "24h" ? null : one })}
              aria-current={one === span ? "true" : undefined}
            >
              {one}
            </a>
          ))}
        </nav>
      }
    >
      <div class="filter-bar">
        <FilterField name="kind" label="Kind" suggestions={facets.kinds} />
        <FilterField name="tenant" label="Tenant" suggestions={facets.tenants} />
        <FilterField name="queue" label="Queue" suggestions={facets.queues} />
      </div>
      <Panel flush>
        <Loaded from={errors}>
          {(answer) => (
            <>
              <ListNotice notice={answer.notice} />
              {answer.items.length === 0 ? (
                <Empty icon="check" title="No job died">
                  Nothing in this time matches. Failures that were retried with success are not here.
                </Empty>
              ) : (
                <ul class="errors">
                  {answer.items.map((group) => (
                    <Group key={group.fingerprint} group={group} />
                  ))}
                </ul>
              )}
            </>
          )}
        </Loaded>
      </Panel>
    </Page>
  );
}

function Group({ group }: { group: ErrorGroup }) {
  const [asked, setAsked] = useState(false);
  const versions = group.versions.flatMap(({ version }) => version ?? []);
  return (
    <li class="error-group">
      <div class="error-count">
        <strong class="num">{count(group.count)}</strong>
        <Sparkline values={group.spark} tone="f-dead" label={`${group.count} over the time shown`} />
      </div>
      <div class="error-text">
        <a class="clip" href={link(["jobs", group.sample])} title={group.message}>
          {group.pattern || group.message}
        </a>
        <span class="quiet small clip">
          {group.kind} · {group.code ?? group.name ?? "no code"}
        </span>
        <span class="quiet small wrap">
          first <Ago at={group.firstSeenAt} />, last <Ago at={group.lastSeenAt} /> · {count(group.tenants)}{" "}
          {group.tenants === 1 ? "tenant" : "tenants"}:{" "}
          {group.topTenants.map(({ tenant, count: jobs }) => `${tenant} (${count(jobs)})`).join(", ")}
          {group.firstVersion && ` · first seen in ${group.firstVersion}`}
          {versions.length > 1 && ` · in ${versions.join(", ")}`}
        </span>
      </div>
      <div class="row error-tools">
        <a class="button little" href={link(["jobs"], { state: "dead", ...(group.filter as Record<string, string>) })}>
          Jobs
        </a>
        {may("operator") && (
          <button type="button" class="button little" onClick={() => setAsked(true)}>
            <Icon name="retry" small /> Retry all …
          </button>
        )}
      </div>
      {asked && <PreviewDialog action="redrive" filter={{ ...group.filter }} close={() => setAsked(false)} />}
    </li>
  );
}
