// `client.retention`: for how long ended jobs of a kind, a state or a tenant are kept, and what would go by it.
import { type Duration, toMs } from "../base/duration.js";
import { refuseUnknown } from "../base/settings.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { checkKeep, checkScope, type RetentionScope, type RetentionSettings, storedRule } from "./retention-rule.js";
import {
  previewRules,
  type RetentionPreview,
  type RetentionRuleState,
  readRules,
  removeRule,
  setRule,
} from "./retention-statements.js";

export interface PreviewOptions {
  /** The general age, as the workers have it; default "30d". */
  readonly keepHistory?: Duration;
  /** Try this rule besides those that were set. */
  readonly rule?: RetentionScope & RetentionSettings;
}

export class Retention {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** Keeps such ended jobs for so long, instead of what was said for exactly this scope before. Upkeep of workers carries it out. */
  async set(scope: RetentionScope, settings: RetentionSettings): Promise<void> {
    const checked = checkScope(scope, "retention.set");
    refuseUnknown(settings, ["keep"], "retention.set");
    const rule = storedRule(checked, checkKeep(settings.keep, "retention.set"));
    return this.#context.call(() => setRule(this.#context, rule));
  }

  /** Takes back what was set for exactly this scope; false: nothing was. */
  async remove(scope: RetentionScope): Promise<boolean> {
    const checked = checkScope(scope, "retention.remove");
    return this.#context.call(() => removeRule(this.#context, storedRule(checked, null)));
  }

  /** All rules, the most specific first. */
  list(): Promise<RetentionRuleState[]> {
    return this.#context.call(() => readRules(this.#context));
  }

  /** What would go now, by day and rule. Removes nothing; reads the whole history, a day at a time. */
  async preview(options: PreviewOptions = {}): Promise<RetentionPreview[]> {
    refuseUnknown(options, ["keepHistory", "rule"], "retention.preview");
    const historyKeepMs = toMs(options.keepHistory ?? "30d", "keepHistory");
    const { rule } = options;
    const tried =
      rule && storedRule(checkScope(rule, "retention.preview", ["keep"]), checkKeep(rule.keep, "retention.preview"));
    return this.#context.call(async () => {
      if (tried === undefined) return previewRules(this.#context, historyKeepMs, undefined);
      const others = (await readRules(this.#context))
        .filter(({ kind, state, tenant }) => kind !== tried.kind || state !== tried.state || tenant !== tried.tenant)
        .map(({ kind, state, tenant, keepMs }) => ({ kind, state, tenant, keep_ms: keepMs }));
      return previewRules(this.#context, historyKeepMs, [...others, tried]);
    });
  }
}
