// Outbox: how far each channel is behind, and every message with what its receiver answered.
import type { ChannelRow, MessageRow, Notice, Page as PageOf } from "../../data/contract";
import { useResource } from "../../data/resource";
import { duration } from "../../format/times";
import { StateBadge } from "../../parts/badge";
import { cli } from "../../parts/copy";
import { CountOf } from "../../parts/counts";
import { apiQuery, Choice, FilterField } from "../../parts/filters";
import { Loaded } from "../../parts/loaded";
import { ListNotice } from "../../parts/pager";
import { Panel } from "../../parts/panel";
import { Empty } from "../../parts/states";
import { Clip, Table } from "../../parts/table";
import { Ago } from "../../parts/time";
import { Page } from "../../shell/page";
import { link, route, withQuery } from "../../shell/route";
import { useFacets } from "../facets";
import { Listing } from "../listing";

const STATUSES = ["pending", "sending", "sent", "failed", "unknown", "skipped"];

export const messageState = (status: string): string => (status === "unknown" ? "uncertain" : status);

export function OutboxView() {
  const names = ["status", "channel", "tenant"];
  const path = `outbox${apiQuery(names)}`;
  const list = useResource<PageOf<MessageRow>>(path, ["outbox"]);
  const channels = useResource<{ items: ChannelRow[]; notice: Notice | null }>("outbox/channels", ["outbox"]);
  const facets = useFacets();
  const query = route.value.query;
  return (
    <Page
      title="Outbox"
      json={path}
      cli={cli(["outbox"], { status: query.get("status"), channel: query.get("channel"), tenant: query.get("tenant") })}
      about="Messages to receivers outside. An attempt is on record before its first byte leaves."
    >
      <Panel title="Channels" flush>
        <Loaded from={channels} rows={3}>
          {(answer) => (
            <>
              <ListNotice notice={answer.notice} />
              {answer.items.length === 0 ? (
                <Empty icon="outbox" title="No channel yet">
                  A channel appears with its first message: <code>client.publish("telegram", message)</code>
                </Empty>
              ) : (
                <Table
                  label="Channels"
                  rows={answer.items}
                  keyOf={(row) => row.channel}
                  columns={[
                    {
                      name: "Channel",
                      cell: (row) => <Clip text={row.channel} href={withQuery({ channel: row.channel })} />,
                    },
                    { name: "Lag", num: true, cell: (row) => duration(row.lagMs) },
                    { name: "Open", num: true, cell: (row) => <CountOf of={row.open} /> },
                    { name: "Oldest open", cell: (row) => <Ago at={row.oldestOpenAt} /> },
                    { name: "Failed", num: true, cell: (row) => <CountOf of={row.failed} /> },
                    {
                      name: "Outcome unknown",
                      num: true,
                      cell: (row) =>
                        row.unknown.count > 0 ? (
                          <a href={withQuery({ channel: row.channel, status: "unknown" })}>
                            <CountOf of={row.unknown} /> to resolve
                          </a>
                        ) : (
                          "0"
                        ),
                    },
                  ]}
                />
              )}
            </>
          )}
        </Loaded>
      </Panel>
      <div class="filter-bar">
        <Choice name="status" label="Status" values={STATUSES} />
        <FilterField name="channel" label="Channel" suggestions={facets.channels} />
        <FilterField name="tenant" label="Tenant" suggestions={facets.tenants} />
      </div>
      <Listing
        from={list}
        title="Messages"
        name="messages"
        keyOf={(row) => row.id}
        filters={names}
        empty={
          <Empty icon="outbox" title="No messages yet">
            A handler sends one with its settle: <code>ctx.publish("telegram", message)</code>
          </Empty>
        }
        columns={[
          {
            name: "Message",
            cell: (row) => (
              <a class="mono" href={link(["outbox", row.id])}>
                {row.id}
              </a>
            ),
          },
          { name: "Status", cell: (row) => <StateBadge state={messageState(row.status)} label={row.status} /> },
          { name: "Channel", cell: (row) => <Clip text={row.channel} /> },
          { name: "Tenant", cell: (row) => <Clip text={row.tenant} /> },
          { name: "Key", cell: (row) => <Clip text={row.idempotencyKey} /> },
          { name: "Attempts", num: true, cell: (row) => row.attempts },
          { name: "Published", cell: (row) => <Ago at={row.createdAt} /> },
          { name: "Ended", cell: (row) => <Ago at={row.endedAt} /> },
        ]}
      />
    </Page>
  );
}
