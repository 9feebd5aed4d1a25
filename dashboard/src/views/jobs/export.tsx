// What is on the screen, as a file: CSV or JSON lines.

/** A cell that begins like a formula is one to a spreadsheet: it gets an apostrophe in front. */
export function csvCell(value: unknown): string {
  const text =
    value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csvOf(rows: readonly object[]): string {
  const names = Object.keys(rows[0] ?? {});
  return [names, ...rows.map((row) => names.map((name) => (row as Record<string, unknown>)[name]))]
    .map((cells) => cells.map(csvCell).join(","))
    .join("\r\n");
}

function save(text: string, type: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  URL.revokeObjectURL(url);
}

export const ExportButton = ({ rows, name }: { rows: readonly object[]; name: string }) =>
  rows.length > 0 && (
    <select
      class="input quiet-select"
      aria-label="Export what is shown"
      value=""
      onChange={(event) => {
        const format = event.currentTarget.value;
        event.currentTarget.value = "";
        if (format === "csv") save(csvOf(rows), "text/csv", `${name}.csv`);
        if (format === "jsonl")
          save(rows.map((row) => JSON.stringify(row)).join("\n"), "application/x-ndjson", `${name}.jsonl`);
      }}
    >
      <option value="">Export</option>
      <option value="csv">CSV</option>
      <option value="jsonl">JSON lines</option>
    </select>
  );
