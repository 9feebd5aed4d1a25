// Bulk actions: who began them, how far they are, how they ended. They live in the database, so they go on when this page is closed.

import type { BulkAction, Page as PageOf } from "../../data/contract";
import { bulkNews } from "../../data/live";
import { useResource } from "../../data/resource";
import { segment } from "../../data/segment";
import { count } from "../../format/numbers";
import { Action } from "../../parts/action";
import { StateBadge } from "../../parts/badge";
import { cli } from "../../parts/copy";
import { apiQuery } from "../../parts/filters";
import { Json } from "../../parts/json";
import { Loaded } from "../../parts/loaded";
import { ListNotice, Pager } from "../../parts/pager";
import { Facts, Panel } from "../../parts/panel";
import { Empty } from "../../parts/states";
import { Clip, Table } from "../../parts/table";
import { Ago } from "../../parts/time";
import { Page } from "../../shell/page";
import { link } from "../../shell/route";

const back = { href: "#/jobs", name: "Jobs" };

export function BulkView({ parts }: { parts: readonly string[] }) {
  return parts[1] === undefined ? <BulkList /> : <BulkOne id={parts[1]} />;
}

function BulkList() {
  const path = `bulk${apiQuery(["state"])}`;
  const list = useResource<PageOf<BulkAction>>(path, ["bulk"]);
  return (
    <Page
      title="Bulk actions"
      json={path}
      cli="fairmill bulk"
      back={back}
      about="Actions on many jobs: previewed, carried out in bounded steps, resumable."
    >
      <Panel flush>
        <Loaded from={list}>
          {(page) => (
            <>
              <ListNotice notice={page.notice} />
              {page.items.length === 0 ? (
                <Empty icon="jobs" title="No bulk action yet">
                  Filter the jobs, then act on all that match.
                </Empty>
              ) : (
                <Table
                  label="Bulk actions"
                  rows={page.items}
                  keyOf={(bulk) => bulk.id}
                  columns={[
                    {
                      name: "Action",
                      cell: (bulk) => (
                        <a href={link(["bulk", bulk.id])}>
                          {bulk.action} {bulk.id}
                        </a>
                      ),
                    },
                    { name: "State", cell: (bulk) => <StateBadge state={bulk.state} /> },
                    { name: "Filter", cell: (bulk) => <Clip text={JSON.stringify(bulk.filter)} /> },
                    { name: "Changed", num: true, cell: (bulk) => count(bulk.changed) },
                    { name: "Skipped", num: true, cell: (bulk) => count(bulk.skipped) },
                    { name: "By", cell: (bulk) => <Clip text={bulk.actor} /> },
                    { name: "Begun", cell: (bulk) => <Ago at={bulk.createdAt} /> },
                  ]}
                />
              )}
              <Pager next={page.next} shown={page.items.length} name="actions" />
            </>
          )}
        </Loaded>
      </Panel>
    </Page>
  );
}

function BulkOne({ id }: { id: string }) {
  const path = `bulk/${segment(id)}`;
  const one = useResource<BulkAction>(path, ["bulk"]);
  return (
    <Page
      title={`Bulk action ${id}`}
      json={path}
      cli={cli(["bulk", "get", id])}
      back={{ href: "#/bulk", name: "Bulk actions" }}
    >
      <Loaded from={one}>
        {(read) => {
          const bulk = bulkNews.value?.id === id && bulkNews.value.updatedAt > read.updatedAt ? bulkNews.value : read;
          return <Progress bulk={bulk} path={path} />;
        }}
      </Loaded>
    </Page>
  );
}

const Progress = ({ bulk, path }: { bulk: BulkAction; path: string }) => (
  <div class="grid two">
    <Panel
      title={`${bulk.action}: ${count(bulk.changed)} changed`}
      tools={
        bulk.state === "running" ? (
          <Action
            label="Stop"
            icon="pause"
            kind="danger"
            path={`${path}/stop`}
            done={() => "Stopped; what was done stays"}
          />
        ) : bulk.state !== "done" ? (
          <Action label="Go on" icon="play" path={`${path}/resume`} done={() => "Goes on"} />
        ) : undefined
      }
    >
      <Facts
        facts={[
          ["State", <StateBadge key="s" state={bulk.state} />],
          ["Seen", count(bulk.seen)],
          ["Changed", count(bulk.changed)],
          ["Skipped", count(bulk.skipped)],
          ["By", bulk.actor],
          ["Why", bulk.reason ?? "–"],
          ["Begun", <Ago key="c" at={bulk.createdAt} />],
          ["Moved", <Ago key="u" at={bulk.updatedAt} />],
          ["Up to job", bulk.upTo],
          ...(bulk.error ? ([["Error", bulk.error]] as const) : []),
        ]}
      />
    </Panel>
    <Panel title="Filter">
      <Json value={bulk.filter} label="Filter" />
    </Panel>
  </div>
);
