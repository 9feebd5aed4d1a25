// Metrics as Prometheus reads them: text format 0.0.4.
import type { Family } from "./metric-family.js";

const PREFIX = "fairmill_";

export function renderPrometheus(families: readonly Family[]): string {
  const lines: string[] = [];
  for (const family of families) {
    const name = `${PREFIX}${family.name}`;
    lines.push(`# HELP ${name} ${escapeHelp(family.help)}`, `# TYPE ${name} ${family.type}`);
    if (family.type === "histogram") lines.push(...histogramLines(name, family));
    else for (const { labels, value } of family.samples) lines.push(`${name}${labelsOf(labels)} ${numberOf(value)}`);
  }
  return `${lines.join("\n")}\n`;
}

function* histogramLines(
  name: string,
  { bounds, histograms }: Extract<Family, { type: "histogram" }>,
): Generator<string> {
  for (const { labels, counts, sum } of histograms) {
    let count = 0;
    for (const [index, bound] of [...bounds, Number.POSITIVE_INFINITY].entries()) {
      count += counts[index] ?? 0;
      yield `${name}_bucket${labelsOf({ ...labels, le: numberOf(bound) })} ${count}`;
    }
    yield `${name}_sum${labelsOf(labels)} ${numberOf(sum)}`;
    yield `${name}_count${labelsOf(labels)} ${count}`;
  }
}

function labelsOf(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join()}}`;
}

const escapeHelp = (text: string) => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
/** Whatever a name contains, it stays inside its quotes and on its line. */
const escapeLabel = (text: string) => escapeHelp(text).replaceAll('"', '\\"').replaceAll("\r", "\\r").toWellFormed();

function numberOf(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  return String(value);
}
