// JSON in one form: members sorted by name, nothing between them. Two texts that say the same become the same text.

/** `json` is JSON that was checked before: it is not deep, and its numbers are JavaScript's. */
export function canonicalJson(json: string): string {
  return write(JSON.parse(json));
}

function write(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(write).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${write(member)}`).join(",")}}`;
}
