// `fairmill alerts`: what fires, silences, the rules, and the same for Prometheus and Grafana.
import { userInfo } from "node:os";
import { Option } from "commander";
import { systemClock } from "../../base/clock.js";
import type { Duration } from "../../base/duration.js";
import { silentLogger } from "../../base/log.js";
import { duration, given, jobId, name, whole } from "../../cli/arguments.js";
import { type CommandGroup, defineCommand, type GlobalOptions } from "../../cli/command.js";
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

interface ListOptions {
  readonly state?: Alert["state"];
  readonly limit: number;
  readonly before?: string;
}

const list = defineCommand<ListOptions>({
  name: "list",
  summary: "list what is pending or fires",
  examples: [
    ["fairmill alerts", "what fires"],
    ["fairmill alerts --state resolved", "what did"],
  ],
  declare: (command) =>
    void command
      .addOption(new Option("--state <state>", "only these").choices(["pending", "firing", "resolved"]))
      .option("--limit <n>", "how many, at most 200", whole("--limit", 1, 200), 50)
      .option("--before <id>", "only alerts with a lower id", jobId),
  run: async ({ options, out }) => {
    const { shown, next } = await pageOf(options);
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
  },
});

async function pageOf(options: ListOptions & GlobalOptions): Promise<{ shown: Alert[]; next: string | null }> {
  const { limit } = options;
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
  return { shown, next };
}

interface SilenceFor {
  readonly for: Duration;
  readonly rule?: string;
  readonly subject?: string;
  readonly reason?: string;
}

const silence = defineCommand<SilenceFor, [id: string | undefined]>({
  name: "silence",
  summary: "keep changes from being sent for a while: of an alert, a rule or a subject",
  description: "They are still on record; what still fires when the silence is over is sent then.",
  examples: [
    ["fairmill alerts silence 17 --for 2h --reason deploying", "no messages about this one"],
    ["fairmill alerts silence --rule queue-depth-50 --for 1h", "nor about any queue"],
  ],
  declare: (command) =>
    void command
      .argument("[id]", "which alert", jobId)
      .addOption(new Option("--for <duration>", "how long, like 2h").argParser(duration("--for")).makeOptionMandatory())
      .option("--rule <name>", "every alert of this rule", name("--rule"))
      .option("--subject <name>", "every alert of this queue, kind, worker …", name("--subject"))
      .option("--reason <text>", "why", name("--reason")),
  run: async ({ args: [id], options, out }) => {
    if (id === undefined && options.rule === undefined && options.subject === undefined)
      throw new UsageError("Which alert? Write its id, --rule or --subject.");
    if (id !== undefined && (options.rule ?? options.subject) !== undefined)
      throw new UsageError("Write an id, or --rule and --subject, not both.");
    const actor = userName();
    const made = await withClient(await findTarget(options), async (client) => {
      const of =
        id === undefined ? given({ rule: options.rule, subject: options.subject }) : await about(client.alerts.get(id));
      return client.alerts.silence({
        ...of,
        for: options.for,
        ...given({ reason: options.reason, actor }),
      });
    });
    out.result(
      made,
      `Silence ${made.id} until ${made.until.toISOString()}. End it: fairmill alerts unsilence ${made.id}`,
    );
    return 0;
  },
});

const unsilence = defineCommand<object, [id: string]>({
  name: "unsilence",
  summary: "end a silence",
  examples: [["fairmill alerts unsilence 3", "messages go out again"]],
  declare: (command) => void command.argument("<id>", "which silence: see fairmill alerts silences", jobId),
  run: async ({ args: [id], options, out }) => {
    const ended = await withClient(await findTarget(options), (client) => client.alerts.unsilence(id));
    out.result({ id, ended }, ended ? `Silence ${id} is over.` : `There is no silence ${id} any more.`);
    return 0;
  },
});

const silences = defineCommand<object>({
  name: "silences",
  summary: "list silences",
  examples: [["fairmill alerts silences", "what is silenced, until when, and who wanted it"]],
  declare: () => {},
  run: async ({ options, out }) => {
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
});

const rules = defineCommand<object>({
  name: "rules",
  summary: "list the rules with their thresholds",
  examples: [["fairmill alerts rules", "out of the box, and the config's"]],
  declare: () => {},
  run: async ({ options, out }) => {
    const inForce = rulesOf(await configOf(options));
    const rows = inForce.map((rule) => [
      rule.name,
      rule.severity,
      rule.metric,
      `> ${shownValue(rule.above, rule.unit)}`,
      rule.forMs > 0 ? spanOf(rule.forMs) : "at once",
      rule.description,
    ]);
    out.result(
      { rules: inForce },
      tableOf(["RULE", "SEVERITY", "FIGURE", "FIRES", "AFTER", "WHAT"], rows, out.columns),
    );
    return 0;
  },
});

const evaluate = defineCommand<object>({
  name: "evaluate",
  summary: "evaluate the rules now, as a worker would",
  examples: [["fairmill alerts evaluate", "what has changed"]],
  declare: () => {},
  run: async ({ options, out }) => {
    // Other rules than those of the fleet would end its alerts.
    const target = await findTarget(options, "handlers");
    const settings = checkAlerts(target.config?.settings.alerts) ?? { rules: [], channels: [], everyMs: 15_000 };
    const changes = await withDatabase(target, "fairmill alerts", (db) => {
      const keeper = new AlertKeeper({ db, log: silentLogger, identity: { id: `cli-${process.pid}` } }, settings);
      return keeper.evaluate(0);
    });
    const lines = (changes ?? []).map(({ change, message }) => `${change}: ${oneLine(message)}`);
    out.result(
      { changes: changes ?? [] },
      changes === undefined ? "Another process is evaluating." : lines.join("\n") || "Nothing has changed.",
    );
    return 0;
  },
});

const exported = defineCommand<{ readonly prometheus?: true; readonly grafana?: true }>({
  name: "export",
  summary: "write the rules for Prometheus, or a board for Grafana",
  examples: [["fairmill alerts export --prometheus > fairmill.rules.yml", "for Prometheus"]],
  declare: (command) =>
    void command
      .addOption(new Option("--prometheus", "a file of rules").conflicts("grafana"))
      .option("--grafana", "a board"),
  run: async ({ options, out }) => {
    if (!options.prometheus && !options.grafana) throw new UsageError("For which? Write --prometheus or --grafana.");
    const inForce = rulesOf(await configOf(options));
    if (options.grafana) {
      const board = grafanaBoard(inForce);
      out.result(board, JSON.stringify(board, null, 2));
      return 0;
    }
    const { text, left } = prometheusRules(inForce);
    if (left.length > 0)
      out.note(`Note: left out, because only the fleet itself sees single ticks: ${left.join(", ")}.`);
    out.result({ rules: text, left }, text.trimEnd());
    return 0;
  },
});

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
async function configOf(options: GlobalOptions): Promise<Config | undefined> {
  const { findConfig, loadConfig } = await import("../../cli/config-file.js");
  const path = await findConfig(options.config);
  return path === undefined ? undefined : (await loadConfig(path)).settings;
}

export const alerts: CommandGroup = {
  name: "alerts",
  summary: "list alerts, silence them, or write their rules for Prometheus and Grafana",
  examples: [
    ["fairmill alerts", "what fires"],
    ["fairmill alerts silence 17 --for 2h --reason deploying", "no messages about this one"],
    ["fairmill alerts export --prometheus > fairmill.rules.yml", "for Prometheus"],
  ],
  usual: "list",
  verbs: [list, silence, unsilence, silences, rules, evaluate, exported],
};
