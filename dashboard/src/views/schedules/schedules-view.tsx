// Schedules: when each runs next, in words and in its own zone, and what came of the last time.

import type { Page as PageOf, ScheduleRow } from "../../data/contract";
import { useResource } from "../../data/resource";
import { segment } from "../../data/segment";
import { duration } from "../../format/times";
import { Action } from "../../parts/action";
import { Badge, StateBadge } from "../../parts/badge";
import { apiQuery } from "../../parts/filters";
import { Empty } from "../../parts/states";
import { Ago } from "../../parts/time";
import { Page } from "../../shell/page";
import { link } from "../../shell/route";
import { Listing } from "../listing";
import { cronWords, inZone } from "./cron-words";
import { EditSchedule } from "./edit-schedule";
import { NewSchedule } from "./new-schedule";

export function SchedulesView() {
  const path = `schedules${apiQuery([])}`;
  const list = useResource<PageOf<ScheduleRow>>(path, ["schedules"]);
  return (
    <Page
      title="Schedules"
      json={path}
      cli="fairmill schedules"
      actions={<NewSchedule known={list.data?.items.map(({ name }) => name) ?? []} />}
      about="Jobs by the clock. Each tick makes one job."
    >
      <Listing
        from={list}
        name="schedules"
        keyOf={(row) => row.name}
        empty={
          <Empty icon="schedules" title="No schedules">
            Set one: <code>client.schedules.set("nightly", {"{ cron, timezone, job }"})</code>
          </Empty>
        }
        columns={[
          {
            name: "Schedule",
            cell: (row) => (
              <div class="schedule-name">
                <strong class="clip" title={row.name}>
                  {row.name}
                </strong>
                <span class="quiet small clip" title={row.kind}>
                  {row.kind} · {row.tenant}
                </span>
                <span class="row">
                  <Health row={row} />
                </span>
              </div>
            ),
          },
          {
            name: "When",
            cell: (row) => (
              <div class="schedule-name">
                <span class="clip">{cronWords(row.cron)}</span>
                <span class="quiet small clip">
                  <code>{row.cron}</code> {row.timezone}
                </span>
              </div>
            ),
          },
          { name: "Next five", rest: true, cell: (row) => <NextRuns row={row} /> },
          { name: "Last", cell: (row) => <LastTick row={row} /> },
          { name: "Actions", unseen: true, cell: (row) => <Tools row={row} /> },
        ]}
      />
    </Page>
  );
}

function Health({ row }: { row: ScheduleRow }) {
  if (row.pausedAt) return <StateBadge state="paused" />;
  if (row.lastError)
    return (
      <Badge tone="dead" icon="errors">
        failing
      </Badge>
    );
  if (row.overdueMs > 60_000)
    return (
      <Badge tone="blocked" icon="schedules">
        overdue {duration(row.overdueMs)}
      </Badge>
    );
  if (row.editedAt)
    return (
      <span title="Changed by hand since the code declared it. The same declaration leaves it alone; another one replaces it.">
        <Badge tone="scheduled" icon="schedules">
          edited
        </Badge>
      </span>
    );
  return null;
}

const NextRuns = ({ row }: { row: ScheduleRow }) => {
  const [first, ...rest] = row.nextRuns;
  if (!first) return <span class="quiet">none while paused</span>;
  return (
    <div class="schedule-next">
      <span class="clip">
        {inZone(first, row.timezone)}{" "}
        <span class="quiet">
          (<Ago at={first} />)
        </span>
      </span>
      <span class="quiet small next-runs">
        {rest.map((at) => (
          <span key={at}>{inZone(at, row.timezone)}</span>
        ))}
      </span>
    </div>
  );
};

const LastTick = ({ row }: { row: ScheduleRow }) => (
  <div class="schedule-name">
    {row.lastTick && row.lastJobId !== null ? (
      <a href={link(["jobs", row.lastJobId])}>
        <Ago at={row.lastTick} />
      </a>
    ) : (
      <Ago at={row.lastTick} />
    )}
    {row.lastError && (
      <span class="c-dead small clip short" title={`${row.lastError.code}: ${row.lastError.message}`}>
        {row.lastError.message}
      </span>
    )}
  </div>
);

const Tools = ({ row }: { row: ScheduleRow }) => {
  const path = `schedules/${segment(row.name)}`;
  return (
    <span class="row">
      <EditSchedule row={row} />
      <Action
        little
        label="Run now"
        icon="play"
        path={`${path}/run`}
        confirm={`A job of ${row.kind} is enqueued now, beside its ticks.`}
        done={({ id }) => `Job ${String(id)} was enqueued`}
      />
      {row.pausedAt ? (
        <Action little label="Resume" icon="play" path={`${path}/resume`} done={() => `${row.name} ticks again`} />
      ) : (
        <Action little label="Pause" icon="pause" path={`${path}/pause`} done={() => `${row.name} is paused`} />
      )}
    </span>
  );
};
