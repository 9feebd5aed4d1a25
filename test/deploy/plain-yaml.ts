// Reads the YAML that the recipes are written in: block maps and lists, flow collections on one line, plain and quoted scalars. Anything else is an error.

type Value = string | number | boolean | null | Value[] | { [name: string]: Value };

interface Line {
  readonly indent: number;
  readonly text: string;
}

/** The documents of a file. */
// biome-ignore lint/suspicious/noExplicitAny: what is in a recipe is what its test says.
export const readYaml = (text: string): any[] => text.split(/^---$/m).map((part) => readDocument(part));

function readDocument(text: string): Value {
  const lines = text.split("\n").flatMap((line): Line[] => {
    if (/^\s*(#.*)?$/.test(line)) return [];
    if (/\t|[&*|>]\s*$/.test(line)) throw new Error(`Not read here: ${line}`);
    return [{ indent: line.search(/\S/), text: line.trim() }];
  });
  const value = readBlock(lines, lines[0]?.indent ?? 0);
  if (lines.length > 0) throw new Error(`Wrong indentation: ${lines[0]!.text}`);
  return value;
}

function readBlock(lines: Line[], indent: number): Value {
  if (lines[0]?.text.startsWith("- ")) return readList(lines, indent);
  const map: { [name: string]: Value } = {};
  while (lines[0]?.indent === indent) {
    const { text } = lines.shift()!;
    const [, name, rest] = /^([\w.-]+):(?: +(.*))?$/.exec(text) ?? [];
    if (name === undefined || name in map) throw new Error(`Not a new entry of a map: ${text}`);
    map[name] = rest ? readScalar(rest) : readBlock(lines, lines[0]?.indent ?? 0);
  }
  return map;
}

function readList(lines: Line[], indent: number): Value[] {
  const list: Value[] = [];
  while (lines[0]?.indent === indent && lines[0].text.startsWith("- ")) {
    const text = lines.shift()!.text.slice(2).trim();
    if (/^[{["]/.test(text) || !/^[\w.-]+:( |$)/.test(text)) list.push(readScalar(text));
    else {
      lines.unshift({ indent: indent + 2, text });
      list.push(readBlock(lines, indent + 2));
    }
  }
  return list;
}

function readScalar(text: string): Value {
  const tokens = [...text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],]|[\w.-]+:(?=\s)|[^\s{}[\],"][^{}[\],"]*/g)].map(
    ([token]) => token.trim(),
  );
  const value = readFlow(tokens);
  if (tokens.length > 0) throw new Error(`Not one value: ${text}`);
  return value;
}

function readFlow(tokens: string[]): Value {
  const token = tokens.shift();
  if (token === "[") return readUntil(tokens, "]", () => readFlow(tokens));
  if (token === "{")
    return Object.fromEntries(
      readUntil(tokens, "}", () => {
        const name = tokens.shift() ?? "";
        if (!name.endsWith(":")) throw new Error(`Not a name: ${name}`);
        return [name.slice(0, -1), readFlow(tokens)] as const;
      }),
    );
  if (token === undefined || "]},".includes(token)) throw new Error(`No value before ${token}`);
  if (token.startsWith('"')) return JSON.parse(token) as string;
  if (/^(true|false|null|-?\d+(\.\d+)?)$/.test(token)) return JSON.parse(token) as Value;
  return token;
}

function readUntil<T>(tokens: string[], end: string, read: () => T): T[] {
  const all: T[] = [];
  while (tokens[0] !== end) {
    all.push(read());
    if (tokens[0] === ",") tokens.shift();
    else if (tokens[0] !== end) throw new Error(`Expected ${end} before ${tokens[0]}`);
  }
  tokens.shift();
  return all;
}
