// Audit: who did what, by which way, and what came of it.
import type { AuditEvent, Page as PageOf } from "../../data/contract";
import { useResource } from "../../data/resource";
import { StateBadge } from "../../parts/badge";
import { apiQuery, FilterField } from "../../parts/filters";
import { Empty } from "../../parts/states";
import { Clip } from "../../parts/table";
import { Ago } from "../../parts/time";
import { Page } from "../../shell/page";
import { ExportButton } from "../jobs/export";
import { Listing } from "../listing";

const FILTERS = ["actor", "action", "subject"];

export function AuditView() {
  const path = `audit${apiQuery(FILTERS)}`;
  const list = useResource<PageOf<AuditEvent>>(path, ["audit"]);
  return (
    <Page
      title="Audit"
      json={path}
      cli="fairmill audit"
      about="Every action of a person, before and after it was done."
      actions={<ExportButton rows={list.data?.items ?? []} name="audit" />}
    >
      <div class="filter-bar">
        <FilterField name="actor" label="Who" />
        <FilterField name="action" label="Action, job.cancel" />
        <FilterField name="subject" label="Subject, tenant acme" wide />
      </div>
      <Listing
        from={list}
        name="events"
        filters={FILTERS}
        keyOf={(row) => row.id}
        empty={
          <Empty icon="audit" title="Nothing was done by hand">
            Every cancel, retry, limit and sign-in will be here.
          </Empty>
        }
        columns={[
          { name: "When", cell: (row) => <Ago at={row.at} /> },
          {
            name: "Who",
            cell: (row) => (
              <span class="row">
                <Clip text={row.actor} />
                <span class="quiet small nowrap">
                  {row.role ?? ""} · {row.via}
                </span>
              </span>
            ),
          },
          { name: "Action", cell: (row) => <code>{row.action}</code> },
          { name: "Subject", cell: (row) => <Clip text={row.subject} /> },
          {
            name: "Outcome",
            cell: (row) => <StateBadge state={row.outcome ?? "uncertain"} label={row.outcome ?? "not known"} />,
          },
          {
            name: "Detail",
            rest: true,
            cell: (row) => (
              <Clip long text={row.error ?? (Object.keys(row.detail).length > 0 ? JSON.stringify(row.detail) : "")} />
            ),
          },
        ]}
      />
    </Page>
  );
}
