// The figures as Markdown, for a terminal and for the documentation alike.

/** @param {unknown} value a text, or a number of any size */
function cell(value) {
  if (typeof value !== "number") return String(value ?? "–");
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en");
  return value.toPrecision(Math.abs(value) < 0.01 ? 2 : 3);
}

/** All rows have the keys of the first. */
export function table(rows) {
  const names = Object.keys(rows[0]);
  const align = names.map((name) => (typeof rows[0][name] === "number" ? "---:" : "---"));
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(names), line(align), ...rows.map((row) => line(names.map((name) => cell(row[name]))))].join("\n");
}

/** @param {{ facts: Record<string, string>, results: { tables?: { title: string, about?: string, rows: object[] }[], problems: string[] }[] }} run */
export function report({ facts, results }) {
  const parts = [
    Object.entries(facts)
      .map(([name, value]) => `- ${name}: ${value}`)
      .join("\n"),
  ];
  for (const { tables = [] } of results)
    for (const { title, about, rows } of tables) parts.push(`## ${title}`, ...(about ? [about] : []), table(rows));
  const problems = results.flatMap((result) => result.problems);
  if (problems.length > 0) parts.push("## Failed", problems.map((problem) => `- ${problem}`).join("\n"));
  return `${parts.join("\n\n")}\n`;
}
