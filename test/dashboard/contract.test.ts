// The dashboard's types against the server's shapes: each must fit into the other, or this file does not compile. What the server answers is compared with its
// shapes by every test of the API.
import { expect, test } from "vitest";
import { CHILD_TRANSITIONS } from "../../dashboard/src/data/child-states.js";
import type * as contract from "../../dashboard/src/data/contract.js";
import { JOB_STATES } from "../../dashboard/src/data/job-states.js";
import { JOB_STATES as STATES } from "../../src/core/job/states.js";
import type * as figures from "../../src/http/figure-shapes.js";
import { openApi } from "../../src/http/openapi.js";
import { ROUTES } from "../../src/http/routes/all.js";
import type { Infer } from "../../src/http/schema.js";
import type * as shapes from "../../src/http/shapes.js";
import { CHILD_TRANSITIONS as TRANSITIONS } from "../../src/pool/life-cycle.js";

/** Lists and members that may be written are the same as others here; words are compared as texts where the server says no more. */
type Plain<T> = T extends readonly (infer One)[]
  ? readonly Plain<One>[]
  : T extends string
    ? string
    : T extends object
      ? { readonly [Name in keyof T]: Plain<T[Name]> }
      : T;
type Fits<A, B> = [Plain<A>] extends [Plain<B>] ? ([Plain<B>] extends [Plain<A>] ? true : "too much") : "too little";
type Item<T> = T extends { readonly items: readonly (infer One)[] } ? One : never;

const fits = {
  now: true as Fits<Infer<typeof shapes.now>, contract.Now>,
  jobRow: true as Fits<Infer<typeof shapes.jobRow>, contract.JobRow>,
  step: true as Fits<Infer<typeof shapes.step>, contract.Step>,
  publicJob: true as Fits<Infer<typeof shapes.publicJob>, contract.PublicJob>,
  spent: true as Fits<Infer<typeof shapes.jobDetail>["spent"], contract.TimeSpent>,
  bulkPreview: true as Fits<Infer<typeof shapes.bulkPreview>, contract.BulkPreview>,
  tenantRow: true as Fits<Infer<typeof shapes.tenantRow>, contract.TenantRow>,
  queueRow: true as Fits<Infer<typeof shapes.queueRow>, contract.QueueRow>,
  kindRow: true as Fits<Infer<typeof shapes.kindRow>, contract.KindRow>,
  namedLimit: true as Fits<Infer<typeof shapes.namedLimit>, contract.NamedLimit>,
  budget: true as Fits<Infer<typeof shapes.budget>, contract.Budget>,
  limitGauge: true as Fits<Infer<typeof shapes.limitGauge>, contract.LimitGauge>,
  workerRow: true as Fits<Infer<typeof shapes.workerRow>, contract.WorkerRow>,
  batchRow: true as Fits<Infer<typeof shapes.batchRow>, contract.BatchRow>,
  flowDetail: true as Fits<Infer<typeof shapes.flowDetail>, contract.FlowDetail>,
  messageRow: true as Fits<Infer<typeof shapes.messageRow>, contract.MessageRow>,
  channelRow: true as Fits<Infer<typeof shapes.channelRow>, contract.ChannelRow>,
  accountRow: true as Fits<Infer<typeof shapes.accountRow>, contract.AccountRow>,
  creditEntry: true as Fits<Infer<typeof shapes.creditEntry>, contract.CreditEntry>,
  approval: true as Fits<Infer<typeof shapes.approval>, contract.Approval>,
  question: true as Fits<Infer<typeof shapes.question>, contract.Question>,
  auditEvent: true as Fits<Infer<typeof shapes.auditEvent>, contract.AuditEvent>,
  trial: true as Fits<Infer<typeof shapes.trial>, contract.Trial>,
  series: true as Fits<Item<Infer<typeof figures.seriesAnswer>>, contract.Series>,
  backlog: true as Fits<Infer<typeof figures.backlogAnswer>, contract.Backlog>,
  fairness: true as Fits<Infer<typeof figures.fairnessAnswer>, contract.Fairness>,
  time: true as Fits<Item<Infer<typeof figures.timeAnswer>>, contract.TimeRow>,
  pool: true as Fits<Infer<typeof figures.poolRow>, contract.PoolRow>,
  money: true as Fits<Item<Infer<typeof figures.moneyAnswer>>, contract.MoneyRow>,
  provider: true as Fits<Infer<typeof figures.providerRow>, contract.ProviderRow>,
  decision: true as Fits<Infer<typeof figures.scalingDecision>, contract.ScalingDecision>,
  logLine: true as Fits<Infer<typeof figures.logLine>, contract.LogLine>,
  alert: true as Fits<Infer<typeof figures.alert>, contract.Alert>,
  alertRule: true as Fits<Infer<typeof figures.alertRule>, contract.AlertRule>,
};

test("the dashboard's types and the server's shapes are the same", () => {
  expect(Object.values(fits).every((fit) => fit === true)).toBe(true);
});

test("the dashboard knows the states of a job, in their order", () => {
  expect(JOB_STATES).toEqual(STATES);
});

test("D2: the dashboard's table of the life of a process is the one that the supervisor obeys", () => {
  expect(CHILD_TRANSITIONS).toEqual(TRANSITIONS);
});

test("no route but those that are not wired yet answers a shape that says nothing", () => {
  const loose = JSON.stringify({ $ref: "#/components/schemas/ErrorRecord" });
  const found = ROUTES.filter(({ answer }) => JSON.stringify(answer?.json ?? {}).includes(loose));
  expect(found.map(({ path }) => path).filter((path) => path !== "/openapi.json")).toEqual([]);
  expect(Object.keys(openApi(ROUTES).paths)).toContain("/backlog");
});
