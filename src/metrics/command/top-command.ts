// `fairmill top`: the fleet in a terminal, drawn again every two seconds.
import { styleText } from "node:util";
import { sleep, systemClock } from "../../base/clock.js";
import { type Duration, toMs } from "../../base/duration.js";
import { duration } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import type { Output } from "../../cli/output.js";
import { catchSignals } from "../../cli/signals.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, shownUrl, withClient } from "../../cli/target.js";
import { fitTo, oneLine } from "../../cli/text.js";
import { spanOf } from "../../cli/times.js";
import type { Client } from "../../client/client.js";
import { type TopInput, topLines } from "../top-view.js";

interface Options {
  readonly once?: true;
  readonly every?: Duration;
}

const TENANTS = 50;
const ROWS_WHEN_UNKNOWN = 60;
/** Another screen than the one with the shell's lines, and no cursor in it. */
const ENTER = "\x1b[?1049h\x1b[?25l";
const LEAVE = "\x1b[?25h\x1b[?1049l";

export const top = defineCommand<Options>({
  name: "top",
  summary: "show queues, tenants, kinds and workers, live",
  description:
    "Drawn again every two seconds, until q or Ctrl-C. Where the output is no terminal, and with --json, once.",
  examples: [
    ["fairmill top", "live"],
    ["fairmill top --once", "one picture, for a script or a paste"],
    ["fairmill top --every 10s", "less often"],
  ],
  declare: (command) =>
    void command
      .option("--once", "draw it once and end")
      .option("--every <duration>", "how often it is drawn again (default: 2s)", duration("--every")),
  run: async ({ options, out }) => {
    const target = await findTarget(options);
    const where = shownUrl(target.databaseUrl);
    await withClient(target, async (client) => {
      if (options.once || out.json || !process.stdout.isTTY) return once(client, where, out);
      await live(client, where, out, Math.max(250, toMs(options.every ?? "2s", "--every")));
    });
    return 0;
  },
});

async function look(client: Client, where: string): Promise<TopInput> {
  const [figures, tenants, alerts] = await Promise.all([
    client.metrics.figures(),
    client.tenants.list({ limit: TENANTS }),
    client.alerts.list({ state: "firing", limit: 200 }),
  ]);
  return { figures, tenants, alerts, where };
}

async function once(client: Client, where: string, out: Output): Promise<void> {
  const seen = await look(client, where);
  out.result(seen, draw(seen, out, Number.POSITIVE_INFINITY).join("\n"));
}

const draw = (seen: TopInput, out: Output, rowsMax: number): string[] =>
  topLines(seen, rowsMax, {
    table: (headings, rows) => tableOf(headings, rows, out.columns),
    span: spanOf,
    line: (text) => fitTo(oneLine(text), out.columns).trimEnd(),
    bold: (text) => (out.coloured ? styleText("bold", text) : text),
  });

async function live(client: Client, where: string, out: Output, everyMs: number): Promise<void> {
  const over = new AbortController();
  const signals = catchSignals();
  void signals.first.then(() => over.abort());
  const keys = listenForKeys(() => over.abort());
  process.stdout.write(ENTER);
  try {
    while (!over.signal.aborted) {
      const lines = await look(client, where).then(
        (seen) => draw(seen, out, (process.stdout.rows || ROWS_WHEN_UNKNOWN) - 1),
        (error: Error) => [fitTo(oneLine(`No answer, trying again: ${error.message}`), out.columns).trimEnd()],
      );
      // In one piece, each line over the old one: nothing is wiped first, so nothing flickers.
      process.stdout.write(`\x1b[H${lines.map((line) => `${line}\x1b[K`).join("\r\n")}\x1b[J`);
      await sleep(systemClock, everyMs, over.signal);
    }
  } finally {
    process.stdout.write(LEAVE);
    keys.release();
    signals.release();
  }
}

/** q, Escape and Ctrl-C: where keys come one by one, Ctrl-C is no signal. */
function listenForKeys(onQuit: () => void): { release(): void } {
  const { stdin } = process;
  if (!stdin.isTTY) return { release: () => {} };
  const heard = (key: Buffer) => {
    if (["q", "Q", "\x03", "\x1b"].includes(key.toString())) onQuit();
  };
  stdin.setRawMode(true);
  stdin.on("data", heard);
  return {
    release: () => {
      stdin.off("data", heard);
      stdin.setRawMode(false);
      stdin.pause();
    },
  };
}
