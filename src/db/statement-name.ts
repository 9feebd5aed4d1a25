// The name of a statement, for those who watch calls of the database: few names, and the same in every release that sends the same statement.

/** Names that were given, and names that were derived. */
const names = new Map<string, string>();
/** Texts are constants; those of migrations, which are not, must not fill the memory. */
const NAMES_MAX = 1_000;

/** Gives a statement a name where the one that its text yields says too little. Returns the text. */
export function named(name: string, text: string): string {
  names.set(text, name);
  return text;
}

/** The function that it calls, without its version; else what it does to which table; else its first word. */
export function nameOfStatement(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = derive(text);
  if (names.size < NAMES_MAX) names.set(text, name);
  return name;
}

const FUNCTION = /\b[a-z_]\w*\.(\w+?)(?:_v\d+)?\s*\(/;
const TABLE = /\b(?:from|into|update|table|only)\s+[a-z_]\w*\.(\w+)/;

function derive(text: string): string {
  const verb = /[a-z]+/i.exec(text)?.[0]?.toLowerCase() ?? "empty";
  const called = FUNCTION.exec(text)?.[1];
  const table = TABLE.exec(text)?.[1];
  // "insert into fairmill.job (…)" looks like a call.
  if (called !== undefined && called !== table) return called;
  if (table !== undefined) return `${verb} ${table}`;
  return /^select\s+(\w+)\(/.exec(text)?.[1] ?? verb;
}
