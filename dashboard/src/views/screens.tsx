// Which screen an address names.
import type { FunctionComponent } from "preact";
import { isHidden } from "../data/session";
import { Notice } from "../parts/states";
import { AlertsView } from "./alerts/alerts-view";
import { ApprovalsView } from "./approvals/approvals-view";
import { AuditView } from "./audit/audit-view";
import { ErrorsView } from "./errors/errors-view";
import { FlowView } from "./flows/flow-view";
import { FlowsView } from "./flows/flows-view";
import { BulkView } from "./jobs/bulk-view";
import { JobView } from "./jobs/job-view";
import { JobsView } from "./jobs/jobs-view";
import { LimitsView } from "./limits/limits-view";
import { AccountView } from "./money/account-view";
import { MoneyView } from "./money/money-view";
import { NowView } from "./now/now-view";
import { MessageView } from "./outbox/message-view";
import { OutboxView } from "./outbox/outbox-view";
import { QueuesView } from "./queues/queues-view";
import { SchedulesView } from "./schedules/schedules-view";
import { TenantView } from "./tenants/tenant-view";
import { TenantsView } from "./tenants/tenants-view";
import { WorkerView } from "./workers/worker-view";
import { WorkersView } from "./workers/workers-view";

type Screen = FunctionComponent<{ parts: readonly string[] }>;

const SCREENS: Record<string, Screen> = {
  now: NowView,
  jobs: ({ parts }) => (parts[1] === undefined ? <JobsView /> : <JobView id={parts[1]} />),
  bulk: BulkView,
  flows: ({ parts }) => (parts[1] === undefined ? <FlowsView /> : <FlowView id={parts[1]} />),
  schedules: SchedulesView,
  queues: QueuesView,
  approvals: ApprovalsView,
  tenants: ({ parts }) => (parts[1] === undefined ? <TenantsView /> : <TenantView name={parts[1]} />),
  limits: LimitsView,
  workers: ({ parts }) => (parts[1] === undefined ? <WorkersView /> : <WorkerView id={parts[1]} />),
  outbox: ({ parts }) => (parts[1] === undefined ? <OutboxView /> : <MessageView id={parts[1]} />),
  money: ({ parts }) => (parts[1] === undefined ? <MoneyView /> : <AccountView name={parts[1]} />),
  errors: ErrorsView,
  alerts: AlertsView,
  audit: AuditView,
};

const Forbidden: Screen = () => (
  <Notice icon="lock" tone="blocked">
    This screen shows all tenants; your credential is for one.
  </Notice>
);

const Unknown: Screen = ({ parts }) => (
  <>
    <h1>Not found</h1>
    <Notice icon="help" tone="blocked">
      There is no screen <code>{parts.join("/")}</code>. <a href="#/now">Go to Now</a>
    </Notice>
  </>
);

export function screenOf(parts: readonly string[]): Screen {
  const name = parts[0] ?? "now";
  if (!Object.hasOwn(SCREENS, name)) return Unknown;
  return isHidden(name) ? Forbidden : SCREENS[name]!;
}
