// `fairmill alerts`: what fires, silences, the rules, and the same for Prometheus and Grafana.
import { userInfo } from "node:os";
import { Option } from "commander";
import { systemClock } from "../../base/clock.js";
import type { Duration } from "../../base/duration.js";
import { silentLogger } from "../../base/log.js";
import { duration, given, jobId, name, whole } from "../../cli/arguments.js";
import { type Call, defineCommand } from "../../cli/command.js";
import { withDatabase } from "../../cli/database.js";
import { UsageError } from "../../cli/failure.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine } from "../../cli/text.js";
import { relative, spanOf } from "../../cli/times.js";
import type { Config } from "../../worker/config.js";
import { AlertKeeper } from "../alert-keeper.js";
import { checkAlerts } from "../alert-settings.js";
import type { Alert } from "../alert-statements.js";
import { grafanaBoard, prometheusRules } from "../export.js";
import { shownValue } from "../message.js";
import { type AlertRule, rulesInForce } from "../rule.js";

interface Options {
  readonly state?: Alert["state"];
  readonly limit?: number;
  readonly before?: string;
  readonly for?: Duration;
  readonly rule?: string;
  readonly subject?: string;
  readonly reason?: string;
  readonly prometheus?: true;
  readonly grafana?: true;
}

type Args = [word: string | undefined, subject: string | undefined];
type AlertsCall = Call<Options, Args>;

export const alerts = defineCommand<Options, Args>({
  name: "alerts",
  summary: "list alerts, silence them, or write their rules for Prometheus and Grafana",
  description: `Without a word, lists what is pending or fires. silence keeps changes from being sent for a while: of the alert with an id, or of a rule or a
subject; unsilence ends one. rules lists them with their thresholds. evaluate does one round now, as a worker would. export prints the rules.`,
  examples: [
    ["fairmill alerts", "what fires"],
    ["fairmill alerts --state resolved", "what did"],
    ["fairmill alerts silence 17 --for 2h --reason deploying", "no messages about this one"],
    ["fairmill alerts silence --rule queue-depth-50 --for 1h", "nor about any queue"],
    ["fairmill alerts export --prometheus > fairmill.rules.yml", "for Prometheus"],
  ],
  declare: (command) =>
    void command
      .argument("[word]", "silence, unsilence, silences, rules, evaluate or export; without it, the list")
      .argument("[id]", "of silence: an alert; of unsilence: a silence", jobId)
      .addOption(new Option("--state <state>", "of the list: only these").choices(["pending", "firing", "resolved"]))
      .option("--limit <n>", "of the list: how many, at most 200 (default: 50)", whole("--limit", 1, 200))
      .option("--before <id>", "of the list: only alerts with a lower id", jobId)
      .option("--for <duration>", "of silence: how long, like 2h", duration("--for"))
      .option("--rule <name>", "of silence: which rule", name("--rule"))
      .option("--subject <name>", "of silence: which queue, kind, worker …", name("--subject"))
      .option("--reason <text>", "of silence: why", name("--reason"))
      .addOption(new Option("--prometheus", "of export: a file of rules").conflicts("grafana"))
      .option("--grafana", "of export: a board"),
  run: async (call) => {
    const [word] = call.args;
    if (word === undefined) return list(call);
    const does = WORDS[word];
    if (does === undefined)
      throw new UsageError(
        `Unknown word ${JSON.stringify(word)}. Write ${Object.keys(WORDS).join(", ")}, or leave it out for the list.`,
      );
    return does(call);
  },
});

async function list({ options, out }: AlertsCall): Promise<0> {
  const limit = options.limit ?? 50;
  // Without a state, what is not over: however many others have been since.
  const states = options.state === undefined ? (["firing", "pending"] as const) : [options.state];
  const pages = await withClient(await findTarget(options), (client) =>
    Promise.all(states.map((state) => client.alerts.list({ state, limit, ...given({ before: options.before }) }))),
  );
  const shown = pages
    .flat()
    .toSorted((a, b) => Number(b.id) - Number(a.id))
    .slice(0, limit);
  const next = pages.flat().length > shown.length || shown.length === limit ? (shown.at(-1)?.id ?? null) : null;
  const nowMs = systemClock.now();
  const rows = shown.map((alert) => [
    alert.id,
    alert.state,
    alert.severity,
    alert.rule,
    alert.subject,
    shownValue(alert.value, alert.unit),
    relative(alert.firedAt ?? alert.since, nowMs),
    alert.silencedUntil ? `silent until ${alert.silencedUntil.toISOString()}` : "",
  ]);
  const more = next === null ? "" : `\nOlder ones: the same command with --before ${next}`;
  const text =
    rows.length === 0
      ? "No alert."
      : `${tableOf(["ID", "STATE", "SEVERITY", "RULE", "OF", "VALUE", "SINCE", "REMARK"], rows, out.columns)}${more}`;
  out.result({ alerts: shown, next }, text);
  return 0;
}

const WORDS: Readonly<Record<string, (call: AlertsCall) => Promise<0>>> = {
  silence: async ({ args: [, id], options, out }) => {
    if (options.for === undefined) throw new UsageError("How long? Write --for 2h.");
    if (id === undefined && options.rule === undefined && options.subject === undefined)
      throw new UsageError("Which alert? Write its id, --rule or --subject.");
    if (id !== undefined && (options.rule ?? options.subject) !== undefined)
      throw new UsageError("Write an id, or --rule and --subject, not both.");
    const actor = userName();
    const silence = await withClient(await findTarget(options), async (client) => {
      const of =
        id === undefined ? given({ rule: options.rule, subject: options.subject }) : await about(client.alerts.get(id));
      return client.alerts.silence({
        ...of,
        for: options.for!,
        ...given({ reason: options.reason, actor }),
      });
    });
    out.result(
      silence,
      `Silence ${silence.id} until ${silence.until.toISOString()}. End it: fairmill alerts unsilence ${silence.id}`,
    );
    return 0;
  },
  unsilence: async ({ args: [, id], options, out }) => {
    if (id === undefined) throw new UsageError("Which silence? See fairmill alerts silences.");
    const ended = await withClient(await findTarget(options), (client) => client.alerts.unsilence(id));
    out.result({ id, ended }, ended ? `Silence ${id} is over.` : `There is no silence ${id} any more.`);
    return 0;
  },
  silences: async ({ options, out }) => {
    const found = await withClient(await findTarget(options), (client) => client.alerts.silences());
    const rows = found.map((one) => [
      one.id,
      one.rule ?? "every rule",
      one.subject ?? "all",
      one.until.toISOString(),
      one.actor ?? "",
      one.reason ?? "",
    ]);
    out.result(
      { silences: found },
      rows.length === 0
        ? "Nothing is silenced."
        : tableOf(["ID", "RULE", "OF", "UNTIL", "BY", "REASON"], rows, out.columns),
    );
    return 0;
  },
  rules: async ({ options, out }) => {
    const rules = rulesOf((await findTarget(options, "codec")).config?.settings);
    const rows = rules.map((rule) => [
      rule.name,
      rule.severity,
      rule.metric,
      `> ${shownValue(rule.above, rule.unit)}`,
      rule.forMs > 0 ? spanOf(rule.forMs) : "at once",
      rule.description,
    ]);
    out.result({ rules }, tableOf(["RULE", "SEVERITY", "FIGURE", "FIRES", "AFTER", "WHAT"], rows, out.columns));
    return 0;
  },
  evaluate: async ({ options, out }) => {
    const target = await findTarget(options, "codec");
    const settings = checkAlerts(target.config?.settings.alerts) ?? { rules: [], channels: [], everyMs: 15_000 };
    const changes = await withDatabase(target, "fairmill alerts", (db) => {
      const keeper = new AlertKeeper(db, systemClock, {
        ...settings,
        worker: () => `cli-${process.pid}`,
        logger: silentLogger,
        onTrouble: () => {},
      });
      return keeper.runOnce(0);
    });
    const lines = (changes ?? []).map(({ change, message }) => `${change}: ${oneLine(message)}`);
    out.result(
      { changes: changes ?? [] },
      changes === undefined ? "Another process is evaluating." : lines.join("\n") || "Nothing has changed.",
    );
    return 0;
  },
  export: async ({ options, out }) => {
    if (!options.prometheus && !options.grafana) throw new UsageError("For which? Write --prometheus or --grafana.");
    const rules = rulesOf(await configOf(options));
    if (options.grafana) {
      const board = grafanaBoard(rules);
      out.result(board, JSON.stringify(board, null, 2));
      return 0;
    }
    const { text, left } = prometheusRules(rules);
    if (left.length > 0)
      out.note(`Note: left out, because only the fleet itself sees single ticks: ${left.join(", ")}.`);
    out.result({ rules: text, left }, text.trimEnd());
    return 0;
  },
};

const about = async (alert: Promise<Alert>) => {
  const { rule, subject } = await alert;
  return subject === "" ? { rule } : { rule, subject };
};

/** Who is at the terminal; some systems have no name for it. */
function userName(): string | undefined {
  try {
    return userInfo().username || undefined;
  } catch {
    return undefined;
  }
}

const rulesOf = (config: Config | undefined): readonly AlertRule[] =>
  config?.alerts === false ? [] : rulesInForce(config?.alerts?.rules);

/** Rules are the config's: no database is needed to print them. */
async function configOf(options: AlertsCall["options"]): Promise<Config | undefined> {
  const { findConfig, loadConfig } = await import("../../cli/config-file.js");
  const path = await findConfig(options.config);
  return path === undefined ? undefined : (await loadConfig(path)).settings;
}
