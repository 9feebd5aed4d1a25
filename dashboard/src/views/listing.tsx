// A keyset list in a panel: notice, rows or what to do when there are none, pager.
import type { ComponentChildren } from "preact";
import type { Page as PageOf } from "../data/contract";
import type { Resource } from "../data/resource";
import { Loaded } from "../parts/loaded";
import { ListNotice, Pager } from "../parts/pager";
import { Panel } from "../parts/panel";
import { Empty } from "../parts/states";
import { type Column, Table } from "../parts/table";
import { route, withQuery } from "../shell/route";
import { ExportButton } from "./jobs/export";

export function Listing<Row extends object>(props: {
  readonly from: Resource<PageOf<Row>>;
  readonly name: string;
  readonly title?: string;
  readonly note?: string;
  readonly tools?: ComponentChildren;
  readonly empty: ComponentChildren;
  /** The names of its filters: where one is set, an empty list says so. */
  readonly filters?: readonly string[];
  readonly unrecorded?: string;
  readonly keyOf: (row: Row) => string;
  readonly columns: readonly (Column<Row> | null | false | undefined)[];
}) {
  return (
    <Panel
      flush
      {...(props.title ? { title: props.title } : {})}
      {...(props.note ? { note: props.note } : {})}
      tools={
        <>
          {props.tools}
          {props.title && <ExportButton rows={props.from.data?.items ?? []} name={props.name} />}
        </>
      }
    >
      <Loaded from={props.from} {...(props.unrecorded ? { unrecorded: props.unrecorded } : {})}>
        {(page) => (
          <>
            <ListNotice notice={page.notice} />
            {page.items.length === 0 ? (
              <NoRows filters={props.filters ?? []}>{props.empty}</NoRows>
            ) : (
              <Table label={props.title ?? props.name} rows={page.items} keyOf={props.keyOf} columns={props.columns} />
            )}
            <Pager next={page.next} shown={page.items.length} name={props.name} />
          </>
        )}
      </Loaded>
    </Panel>
  );
}

/** What would be here, unless it is the filters that leave nothing. */
export function NoRows({ filters, children }: { filters: readonly string[]; children: ComponentChildren }) {
  if (!filters.some((name) => route.value.query.get(name))) return <>{children}</>;
  return (
    <Empty icon="search" title="Nothing matches the filters">
      <a href={withQuery(Object.fromEntries(filters.map((name) => [name, null])))}>Take them off</a>
    </Empty>
  );
}
