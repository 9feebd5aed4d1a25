// settings.md and the code say the same: what can be set, and what it is where it was not.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  ConfigError,
  createClient,
  createCodec,
  createSupervisor,
  createTickHandler,
  createWorker,
  defineChannel,
  defineConfig,
  defineFlow,
  defineJob,
  defineProvider,
  type EnqueueOptions,
  handle,
  type JobCredits,
  type JobFilter,
  type PublishOptions,
  type RateLimit,
} from "fairmill";
import type { SeriesQuery, SilenceOptions } from "fairmill/observe";
import type { FloorOptions, KubernetesOptions } from "fairmill/pool";
import { sendWebhook, type VerifyOptions, verifyWebhook, type WebhookMessage } from "fairmill/webhooks";
import { describe, expect, test } from "vitest";
import { toMs } from "../../src/base/duration.js";
import type { CodecOptions } from "../../src/encryption/aes-codec.js";
import { checkWorkerOptions, type WorkerOptions } from "../../src/worker/worker-settings.js";
import { codeIn, documentAt, repo, sectionOf, tableIn } from "./documents.js";
import { settingsUnder } from "./settings-page.js";

const url = "postgres://nobody@127.0.0.1:1/nowhere";
const nope = { nope: 1 } as object;
const job = defineJob({ kind: "j" });

const sourcesIn = (folder: string, ending: string) =>
  readdirSync(join(repo, folder), { recursive: true })
    .map(String)
    .filter((file) => file.endsWith(ending))
    .map((file) => readFileSync(join(repo, folder, file), "utf8"));

describe("settings.md lists exactly the settings that are known", () => {
  /** The error for an unknown setting names the known ones. */
  async function knownTo(give: () => unknown): Promise<string[]> {
    try {
      await give();
    } catch (error) {
      if (error instanceof ConfigError) return / Known: (.+)\.$/.exec(error.message)![1]!.split(", ").toSorted();
      throw error;
    }
    throw new Error("The unknown setting was not refused.");
  }
  const handlers = [handle(job, () => {})];
  const client = createClient({ databaseUrl: url });
  const webhook = { url: "https://example.com", body: "", idempotencyKey: "k", secret: Buffer.alloc(24) };

  test.each([
    ["createClient", () => createClient({ databaseUrl: url, ...nope })],
    ["migrate", () => client.migrate(nope)],
    ["createWorker", () => createWorker({ databaseUrl: url, handlers, ...nope })],
    ["createSupervisor", () => createSupervisor({ module: "x.js", ...nope })],
    ["worker", () => defineConfig({ worker: nope })],
    ["floors", () => defineConfig({ worker: { floors: [nope as FloorOptions] } })],
    ["kubernetes", () => defineConfig({ worker: { target: { kubernetes: nope as unknown as KubernetesOptions } } })],
    ["external", () => defineConfig({ worker: { target: { external: nope } } })],
    ["selfCall", () => createTickHandler({ databaseUrl: url, handlers, selfCall: { url, ...nope } })],
    ["createCodec", () => createCodec({ ...nope } as CodecOptions)],
    ["queues", () => createWorker({ databaseUrl: url, handlers, queues: { default: nope } })],
    ["defineJob", () => defineJob({ kind: "j", ...nope })],
    ["retry", () => defineJob({ kind: "j", retry: nope })],
    ["limits", () => defineJob({ kind: "j", limits: nope })],
    ["rate", () => defineJob({ kind: "j", limits: { rate: nope as RateLimit } })],
    ["tenants.set", () => client.tenants.set("t", nope)],
    ["tenants.list", () => client.tenants.list(nope)],
    ["unique", () => defineJob({ kind: "j", unique: nope })],
    ["debounce", () => defineJob({ kind: "j", debounce: { wait: 1, ...nope } })],
    ["throttle", () => defineJob({ kind: "j", throttle: { per: 1, ...nope } })],
    ["defineChannel", () => defineChannel({ name: "c", receiver: "neither", send: () => {}, ...nope })],
    ["publish", () => client.publish("c", {}, nope as PublishOptions)],
    ["outbox.list", () => client.outbox.list(nope)],
    ["outbox.resolve", () => client.outbox.resolve("1", "sent", nope)],
    ["credits", () => defineJob({ kind: "j", credits: nope as JobCredits<unknown> })],
    ["schedules.set", () => client.schedules.set("s", { cron: "* * * * *", job, input: {}, ...nope })],
    ["schedules.change", () => client.schedules.change("s", nope)],
    ["schedules.next", () => client.schedules.next({ cron: "* * * * *", ...nope })],
    ["schedules.list", () => client.schedules.list(nope)],
    ["defineProvider", () => defineProvider({ name: "p", ...nope })],
    ["breaker", () => defineProvider({ name: "p", breaker: nope })],
    ["providers.close", () => client.providers.close("p", nope)],
    ["providers.events", () => client.providers.events("p", nope)],
    ["providers.costs", () => client.providers.costs(nope)],
    ["credits.grant", () => client.credits.grant("a", 1, nope)],
    ["credits.statement", () => client.credits.statement("a", nope)],
    ["enqueue", () => client.enqueue(job, {}, nope as EnqueueOptions)],
    ["jobs.list", () => client.jobs.list(nope as JobFilter)],
    ["redrive filter", () => client.dead.redrive(nope)],
    ["dead.redrive", () => client.dead.redrive({}, nope)],
    ["jobs.rerun", () => client.jobs.rerun("1", nope)],
    ["batches.create", () => client.batches.create(nope, () => {})],
    ["callback", () => client.batches.create({ onSuccess: { job, input: {}, ...nope } }, () => {})],
    ["stability", () => client.batches.open({ stability: nope })],
    ["stability", () => createClient({ databaseUrl: url, stability: nope })],
    ["flows.list", () => client.flows.list(nope)],
    ["stop", () => createWorker({ databaseUrl: url, handlers }).stop(nope)],
    ["batches.list", () => client.batches.list(nope)],
    ["batches.wait", () => client.batches.wait("1", nope)],
    ["batches.hold", () => client.batches.hold("1", nope)],
    ["defineFlow", () => defineFlow({ name: "f", ...nope }, () => {})],
    ["node", () => defineFlow({ name: "f" }, (flow) => void flow.job("n", job, () => ({}), nope))],
    ["run", () => defineFlow({ name: "f" }, (flow) => void flow.run("n", () => {}, nope))],
    [
      "flows.start",
      () =>
        client.flows.start(
          defineFlow({ name: "f" }, () => {}),
          {},
          nope,
        ),
    ],
    ["flows.retry", () => client.flows.retry("1", nope)],
    ["alerts", () => createWorker({ databaseUrl: url, handlers, alerts: nope })],
    ["alert rule", () => createWorker({ databaseUrl: url, handlers, alerts: { rules: { x: nope } } })],
    ["jobs.logs", () => client.jobs.logs("1", nope)],
    ["metrics.series", () => client.metrics.series(nope as SeriesQuery)],
    ["metrics.prometheus", () => client.metrics.prometheus(nope)],
    ["alerts.list", () => client.alerts.list(nope)],
    ["alerts.silence", () => client.alerts.silence(nope as SilenceOptions)],
    ["sendWebhook", () => sendWebhook(nope as WebhookMessage)],
    ["webhook limits", () => sendWebhook({ ...webhook, limits: nope })],
    ["verifyWebhook", () => verifyWebhook(nope as VerifyOptions)],
  ])("%s", async (heading, give) => {
    expect(settingsUnder(heading).toSorted()).toEqual(await knownTo(give));
  });

  test("createTickHandler: those of createWorker in a row of their own, and its own", async () => {
    const rows = tableIn(sectionOf(documentAt("docs/reference/settings.md"), "createTickHandler"));
    const named = rows.flatMap(([names]) => codeIn(names!));
    expect(named.toSorted()).toEqual(
      await knownTo(() => createTickHandler({ databaseUrl: url, handlers, secret: "s".repeat(32), ...nope })),
    );
  });

  test("batches.open: those of batches.create, and its own", async () => {
    const ofBoth = settingsUnder("batches.create").filter((name) => name !== "idempotencyKey");
    const all = [...ofBoth, ...settingsUnder("batches.open")];
    expect(all.toSorted()).toEqual(await knownTo(() => client.batches.open(nope)));
  });

  test("defineConfig: those of createWorker but db, directUrl and clock, and its own", async () => {
    const shared = settingsUnder("createWorker").filter(
      (name) => name !== "db" && name !== "directUrl" && name !== "clock",
    );
    const all = new Set([...shared, ...settingsUnder("defineConfig")]);
    expect([...all].toSorted()).toEqual(await knownTo(() => defineConfig(nope)));
  });

  test("the environment", () => {
    const used = sourcesIn("src", ".ts").flatMap((text) => [...text.matchAll(/process\.env\["(\w+)"\]/g)]);
    const documented = settingsUnder("Environment");
    expect(documented.toSorted()).toEqual([...new Set(used.map(([, name]) => name!))].toSorted());
  });
});

describe("settings.md names the defaults that count", () => {
  const rows = (heading: string) =>
    tableIn(sectionOf(documentAt("docs/reference/settings.md"), heading)).map(
      ([name, value]) => [codeIn(name!)[0]!, codeIn(value!).at(-1)] as const,
    );
  const defaultsOf = (heading: string) => new Map(rows(heading));
  const ms = (text: string | undefined) => toMs(JSON.parse(text!), "default");

  test("createWorker", () => {
    const options = { databaseUrl: url, handlers: [handle(job, () => {})] };
    // Built here, checked by the sources: their types are the same, and the compiler cannot know.
    const known = checkWorkerOptions(options as unknown as WorkerOptions);
    const said = defaultsOf("createWorker");
    expect({
      leaseMs: ms(said.get("lease")),
      graceMs: ms(said.get("grace")),
      abortGraceMs: ms(said.get("abortGrace")),
      historyKeepMs: ms(said.get("keepHistory")),
      recordEveryMs: ms(said.get("recordEvery")),
      lowerShare: Number(said.get("lowerPriorityShare")),
      claimJobsMax: Number(said.get("claimJobsMax")),
      claimTenantMax: said.get("claimTenantMax"),
      crashesMax: Number(said.get("crashesMax")),
      stepsMax: Number(said.get("stepsMax")),
      stepsBytesMax: Number(said.get("stepsBytesMax")),
      effectsMax: Number(said.get("effectsMax")),
      effectsBytesMax: Number(said.get("effectsBytesMax")),
      keepLogs: JSON.parse(said.get("keepLogs")!),
      redact: [],
      alerts: expect.objectContaining({ channels: [], everyMs: ms(defaultsOf("alerts").get("every")) }),
      concurrency: new Map([["default", Number(said.get("concurrency"))]]),
      // By the length of jobs: no number.
      prefetch: new Map(),
      beatMs: ms(said.get("lease")) / 3,
      idleBeatMs: ms(said.get("lease")) / 2,
      stallMs: ms(said.get("lease")),
      pollMs: undefined,
    }).toEqual({ ...known });
  });

  test("defineJob and retry", () => {
    const said = defaultsOf("defineJob");
    expect(job).toMatchObject({
      queue: JSON.parse(said.get("queue")!),
      priority: Number(said.get("priority")),
      timeoutMs: ms(said.get("timeout")),
      maxAttempts: Number(defaultsOf("retry").get("attempts")),
      expireMs: undefined,
    });
  });

  test("unique", () => {
    const said = defaultsOf("unique");
    expect(defineJob({ kind: "j", unique: {} }).unique).toMatchObject({
      by: undefined,
      until: JSON.parse(said.get("until")!),
      forMs: undefined,
      onConflict: JSON.parse(said.get("onConflict")!),
    });
  });

  test("exponential", () => {
    const said = defaultsOf("exponential");
    const [base, cap, factor, jitter] = [
      ms(said.get("base")),
      ms(said.get("cap")),
      Number(said.get("factor")),
      Number(said.get("jitter")),
    ];
    for (const attempt of [1, 2, 5, 20])
      for (const dice of [0, 0.5, 0.9]) {
        const plain = Math.min(cap!, base! * factor! ** (attempt - 1));
        expect(job.backoff(attempt, dice)).toBe(Math.round(plain * (1 + jitter! * (dice - 0.5))));
      }
  });
});
