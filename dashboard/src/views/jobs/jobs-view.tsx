// Jobs: a list by filter, newest first, cut by id and never counted. Selected ones, or all that match, are acted on together.
import { useState } from "preact/hooks";
import type { JobRow, Page as PageOf } from "../../data/contract";
import { JOB_STATES } from "../../data/job-states";
import { useResource } from "../../data/resource";
import { may } from "../../data/session";
import { StateBadge } from "../../parts/badge";
import { apiQuery, FilterField } from "../../parts/filters";
import { Icon } from "../../parts/icon";
import { Loaded } from "../../parts/loaded";
import { ListNotice, Pager } from "../../parts/pager";
import { Panel } from "../../parts/panel";
import { Empty } from "../../parts/states";
import { Page } from "../../shell/page";
import { link, route, withQuery } from "../../shell/route";
import { useFacets } from "../facets";
import { BulkBar } from "./bulk-bar";
import { ExportButton } from "./export";
import { chosenFilter, JOB_FACETS, jobsCommand } from "./job-filter";
import { useJobKeys } from "./job-keys";
import { JobTable } from "./job-table";

export function JobsView() {
  const filter = chosenFilter();
  const path = `jobs${apiQuery(JOB_FACETS)}`;
  const jobs = useResource<PageOf<JobRow>>(path, ["jobs"]);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const rows = jobs.data?.items ?? [];
  const cursor = useJobKeys(rows, setSelected);
  return (
    <Page
      title="Jobs"
      json={path}
      cli={jobsCommand(["jobs"], filter)}
      about="Newest first. Filters are in the address; lists are never counted, so they stay fast."
      actions={
        <>
          <a class="button ghost" href={link(["bulk"])}>
            Bulk actions
          </a>
          <ExportButton rows={rows} name="jobs" />
        </>
      }
    >
      <JobFilters />
      <Panel flush>
        <Loaded from={jobs} rows={14}>
          {(page) => (
            <>
              <ListNotice notice={page.notice} />
              {page.items.length === 0 ? (
                <Nothing filtered={Object.keys(filter).length > 0} />
              ) : (
                <JobTable
                  rows={page.items}
                  cursor={cursor}
                  selected={selected}
                  {...(may("operator") ? { select: setSelected } : {})}
                />
              )}
              <Pager next={page.next} shown={page.items.length} name="jobs" />
            </>
          )}
        </Loaded>
      </Panel>
      {may("operator") && <BulkBar filter={filter} selected={selected} clear={() => setSelected(new Set())} />}
    </Page>
  );
}

const Nothing = ({ filtered }: { filtered: boolean }) =>
  filtered ? (
    <Empty icon="search" title="No job matches">
      <a href="#/jobs">Take off all filters</a>, or widen the time. Ended jobs leave after their retention.
    </Empty>
  ) : (
    <Empty icon="jobs" title="No jobs yet">
      Enqueue the first one:{" "}
      <code>
        fairmill enqueue mail.send '{"{"}"to":"ann"{"}"}'
      </code>
    </Empty>
  );

function JobFilters() {
  const facets = useFacets();
  const state = route.value.query.get("state");
  const [open, setOpen] = useState(false);
  const set = JOB_FACETS.filter((name) => name !== "state" && route.value.query.has(name)).length;
  return (
    <div class="stack tight">
      <nav class="chips" aria-label="State">
        <a class="chip" href={withQuery({ state: null })} aria-current={state === null ? "true" : undefined}>
          All
        </a>
        {JOB_STATES.map((one) => (
          <a
            key={one}
            class="chip"
            href={withQuery({ state: state === one ? null : one })}
            aria-current={state === one ? "true" : undefined}
          >
            <StateBadge state={one} bare />
          </a>
        ))}
      </nav>
      <div class={open ? "filter-bar" : "filter-bar folded"}>
        <button type="button" class="button little filter-more" aria-expanded={open} onClick={() => setOpen(!open)}>
          <Icon name="search" small /> {open ? "Fewer filters" : set > 0 ? `Filters: ${set}` : "Filters"}
        </button>
        <FilterField name="tenant" label="Tenant" suggestions={facets.tenants} />
        <FilterField name="queue" label="Queue" suggestions={facets.queues} />
        <FilterField name="kind" label="Kind" suggestions={facets.kinds} />
        <FilterField name="key" label="Key" />
        <FilterField name="tag" label="Tag" />
        <FilterField name="errorText" label="Error text" />
        <FilterField name="payload" label={'Payload, {"userId":"u1"}'} wide />
        <SinceChoice />
        <Others />
      </div>
    </div>
  );
}

/** Filters that have no field: shown as chips that can be taken off. */
const Others = () => (
  <>
    {(["batch", "errorCode", "createdUntil", "endedSince", "endedUntil"] as const).map((name) => {
      const value = route.value.query.get(name);
      return (
        value && (
          <a
            key={name}
            class="chip"
            aria-current="true"
            href={withQuery({ [name]: null })}
            aria-label={`Take off ${name}`}
          >
            <span class="clip">
              {name}: {value}
            </span>
            <Icon name="close" small />
          </a>
        )
      );
    })}
  </>
);

const AGES = { "15m": 900_000, "1h": 3_600_000, "24h": 86_400_000, "7d": 604_800_000 } as const;

function SinceChoice() {
  const since = route.value.query.get("createdSince");
  const choose = (value: string) => {
    const ms = AGES[value as keyof typeof AGES];
    location.hash = withQuery({
      createdSince: ms
        ? new Date(Math.floor((performance.timeOrigin + performance.now() - ms) / 1000) * 1000).toISOString()
        : null,
    });
  };
  return (
    <select
      class="input"
      aria-label="Enqueued"
      value={since ? "chosen" : ""}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      <option value="">Any time</option>
      {Object.keys(AGES).map((age) => (
        <option key={age} value={age}>
          Last {age}
        </option>
      ))}
      {since && <option value="chosen">Since {since.slice(0, 16).replace("T", " ")}</option>}
    </select>
  );
}
