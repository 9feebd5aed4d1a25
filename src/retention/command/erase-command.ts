// `fairmill tenants erase` and `erasures`: removes what is kept of a tenant, and shows the records of it.
import { cliActor } from "../../audit/audit.js";
import { given, name, text, whole } from "../../cli/arguments.js";
import { type CliCommand, defineCommand } from "../../cli/command.js";
import { confirm } from "../../cli/confirm.js";
import { UsageError } from "../../cli/failure.js";
import { catchSignals } from "../../cli/signals.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine } from "../../cli/text.js";
import type { Erasure } from "../erasure-statements.js";

interface Erasing {
  readonly reason?: string;
  readonly account?: string;
  readonly cachePrefix?: string;
  readonly yes?: true;
}

const figures = ({ counts }: Pick<Erasure, "counts">) =>
  Object.entries(counts)
    .map(([table, rows]) => `${table} ${rows}`)
    .join(", ") || "nothing yet";

export const erase: CliCommand = defineCommand<Erasing, [tenant: string]>({
  name: "erase",
  summary: "erase what is kept of a tenant; cannot be taken back",
  description: `Ends its jobs, removes its rows, and takes its name off what must stay. In short steps: Ctrl-C leaves the
rest, and the same command goes on with it. Files in storages are removed by the library's call, which knows them.`,
  examples: [
    ["fairmill tenants erase acme", "asks first"],
    ['fairmill tenants erase acme --yes --reason "contract ended"', "for a script"],
  ],
  declare: (command) =>
    void command
      .argument("<tenant>", "its name", name("tenant"))
      .option("--reason <text>", "why, for the record; it stays, so name no person", text("--reason"))
      .option("--account <name>", "whose credits lose their name (default: the tenant's name)", name("--account"))
      .option("--cache-prefix <text>", "entries of caches whose keys begin so go as well", text("--cache-prefix"))
      .option("--yes", "do not ask"),
  run: async ({ args: [tenant], options, out }) => {
    if (!options.yes && (out.json || !process.stdin.isTTY || !process.stderr.isTTY))
      throw new UsageError("There is no terminal to ask in. It cannot be taken back: say --yes.");
    if (!options.yes && !(await confirm(`Erase everything of tenant ${oneLine(tenant)}, for ever?`))) {
      out.note("Nothing was changed.");
      return 1;
    }
    const stop = new AbortController();
    const signals = catchSignals(() => stop.abort());
    try {
      const { reason, account, cachePrefix } = options;
      const erased = await withClient(await findTarget(options), ({ tenants }) =>
        tenants.erase(tenant, {
          ...given({ reason, account, cachePrefix }),
          actor: cliActor(options.by).name,
          signal: stop.signal,
        }),
      );
      const rest = erased.state === "done" ? "" : ` Go on: fairmill tenants erase ${oneLine(tenant)}`;
      out.result(erased, `Erasure ${erased.id} is ${erased.state}: ${figures(erased)}.${rest}`);
      return erased.state === "done" ? 0 : 1;
    } finally {
      signals.release();
    }
  },
});

export const erasures: CliCommand = defineCommand<{ readonly tenant?: string; readonly limit: number }, []>({
  name: "erasures",
  summary: "show the records of erased tenants",
  examples: [["fairmill tenants erasures --tenant acme", "was it erased, when, and by whom?"]],
  declare: (command) =>
    void command
      .option("--tenant <tenant>", "of this tenant, whose name the record does not have any more", name("--tenant"))
      .option("--limit <n>", "at most this many", whole("--limit", 1, 1_000), 50),
  run: async ({ options, out }) => {
    const { tenant, limit } = options;
    const found = await withClient(await findTarget(options), ({ tenants }) =>
      tenants.erasures({ ...given({ tenant }), limit }),
    );
    const rows = found.map((one) => [
      ...[one.id, one.state, one.createdAt.toISOString(), oneLine(one.actor)],
      ...[one.tenantDigest.slice(0, 12), figures(one)],
    ]);
    const heads = ["ID", "STATE", "BEGAN", "BY", "DIGEST", "ERASED"];
    out.result({ erasures: found }, rows.length === 0 ? "No tenant was erased." : tableOf(heads, rows, out.columns));
    return 0;
  },
});
