// The reference pages and the code say the same. What the code knows is asked of it, not copied.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { JOB_STATES, TRANSITIONS } from "../../src/core/job/states.js";
import { INVARIANTS } from "../../src/verify/invariants.js";
import { cli } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";
import { codeIn, documentAt, repo, sectionOf, tableIn } from "./documents.js";
import { settingsUnder } from "./settings-page.js";

const db = useDatabase();

const sourcesIn = (folder: string, ending: string) =>
  readdirSync(join(repo, folder), { recursive: true })
    .map(String)
    .filter((file) => file.endsWith(ending))
    .map((file) => readFileSync(join(repo, folder, file), "utf8"));

describe("the state diagram", () => {
  test("has exactly the ways of the transition table", () => {
    const diagram = documentAt("docs/explanation/data.md").blocks.find(({ language }) => language === "mermaid")!.text;
    const drawn = [...diagram.matchAll(/^\s*(\w+) --> (\w+)/gm)].map(([, from, to]) => `${from} → ${to}`);
    const known = JOB_STATES.flatMap((from) => TRANSITIONS[from].map((to) => `${from} → ${to}`));
    expect(drawn.toSorted()).toEqual(known.toSorted());
  });

  test("begins where enqueue puts jobs, and ends where no way leads on", () => {
    const diagram = documentAt("docs/explanation/data.md").blocks.find(({ language }) => language === "mermaid")!.text;
    expect([...diagram.matchAll(/\[\*\] --> (\w+)/g)].map(([, to]) => to)).toEqual(["scheduled", "ready", "blocked"]);
    const last = JOB_STATES.filter((state) => TRANSITIONS[state].length === 0);
    expect([...diagram.matchAll(/(\w+) --> \[\*\]/g)].map(([, from]) => from)).toEqual(last);
  });
});

test("errors.md has an entry for every code that exists, and for no other", () => {
  const sources = [...sourcesIn("src", ".ts"), ...sourcesIn("sql", ".sql")];
  const variables = new Set(settingsUnder("Environment"));
  const codes = sources.flatMap((text) => text.match(/\bFAIRMILL_[A-Z_]+\b|\bFM\d{3}\b/g) ?? []);
  const entries = [...documentAt("docs/reference/errors.md").prose.matchAll(/^### (\S+)$/gm)].map(([, code]) => code!);
  expect(entries.toSorted()).toEqual([...new Set(codes.filter((code) => !variables.has(code)))].toSorted());
  for (const entry of entries)
    for (const part of ["**What happened:**", "**What to do:**"])
      expect(sectionOf(documentAt("docs/reference/errors.md"), entry).replaceAll(/\s+/g, " "), entry).toContain(part);
});

/** What a door of the package exports, by its source. */
const exportedBy = (source: string) =>
  [...readFileSync(join(repo, source), "utf8").matchAll(/export (?:type )?\{([^}]+)\}/g)]
    .flatMap(([, names]) => names!.split(","))
    .map((name) => name.trim().replace(/^type /, ""))
    .filter((name) => name !== "");

describe("api.md names everything that the package exports", () => {
  const page = documentAt("docs/reference/api.md");
  const namedIn = (text: string) => {
    const headings = [...text.matchAll(/^#+ (.+)$/gm)].flatMap(([, heading]) => heading!.split(", "));
    return new Set([...headings, ...codeIn(text).flatMap((code) => code.match(/\w+/g) ?? [])]);
  };

  test("from fairmill, which has at most a hundred names", () => {
    const exported = exportedBy("src/index.ts");
    expect(exported.filter((name) => !namedIn(page.prose).has(name))).toEqual([]);
    expect(exported.length).toBeLessThanOrEqual(100);
  });

  test.each([
    ["src/errors.ts", "Errors"],
    ["src/webhooks.ts", "Webhooks"],
    ["src/pool/index.ts", "Pools"],
    ["src/observe.ts", "Observe"],
    ["src/ticks/index.ts", "Ticks"],
  ])("from the subpath of %s, under its heading", (source, heading) => {
    const named = namedIn(sectionOf(page, heading));
    expect(exportedBy(source).filter((name) => !named.has(name))).toEqual([]);
  });

  test("every class of error is exported by fairmill/errors", () => {
    const classes = sourcesIn("src", ".ts").flatMap((text) => [
      ...text.matchAll(/^export (?:abstract )?class (\w+) extends (?:\w*Error)\b/gm),
    ]);
    // Of the command, of what the client repeats by itself, and of fairmill/http.
    const inner = [
      "NotSentError",
      "RpcFailure",
      "UsageError",
      "EmbeddedMissingError",
      "EmbeddedStartError",
      "HttpProblem",
    ];
    const missing = classes.map(([, name]) => name!).filter((name) => !exportedBy("src/errors.ts").includes(name));
    expect(missing.filter((name) => !inner.includes(name))).toEqual([]);
  });
});

test("api.md names the facts of each check as why_v1 gives them", () => {
  const sql = ["api/operate", "inner/operate", "inner/limits", "inner/providers", "inner/budgets"]
    .flatMap((shelf) => sourcesIn(`sql/${shelf}`, ".sql"))
    .join("\n");
  const facts = tableIn(sectionOf(documentAt("docs/reference/api.md"), "Why, WhyCheck")).flatMap((row) =>
    codeIn(row[3]!),
  );
  expect(facts.length).toBeGreaterThan(40);
  const stored = (fact: string) => fact.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  // Of runNow in its row for the turn: a call, and no fact.
  const missing = facts.filter((fact) => fact !== "runNow" && !sql.includes(`'${stored(fact)}'`));
  expect(missing).toEqual([]);
});

test("api.md names every adapter with all that it exports, and so does the package", () => {
  const page = documentAt("docs/reference/api.md");
  const rows = tableIn(sectionOf(page, "Adapters")).map((cells) => cells.flatMap((cell) => codeIn(cell)));
  const files = readdirSync(join(repo, "src/adapters")).map((file) => file.replace(/\.ts$/, ""));
  expect(rows.map(([from]) => from)).toEqual(files.map((file) => `fairmill/adapters/${file}`));
  for (const [i, file] of files.entries()) {
    const source = readFileSync(join(repo, "src/adapters", `${file}.ts`), "utf8");
    const exported = [...source.matchAll(/^export (?:function|interface|type) (\w+)/gm)].map(([, name]) => name!);
    const named = rows[i]!.flatMap((code) => code.match(/\w+/g) ?? []);
    expect(exported.filter((name) => !named.includes(name))).toEqual([]);
  }
  const { exports } = JSON.parse(readFileSync(join(repo, "package.json"), "utf8")) as { exports: object };
  const subpaths = Object.keys(exports).filter((name) => name.startsWith("./adapters/"));
  expect(subpaths).toEqual(files.map((file) => `./adapters/${file}`));
});

test("api.md lists every event of a worker", () => {
  const source = readFileSync(join(repo, "src/core/worker/worker-events.ts"), "utf8");
  const body = /interface WorkerEvents \{([\s\S]+?)\n\}/.exec(source)![1]!;
  const events = [...body.matchAll(/^ {2}(\w+): \[/gm)].map(([, name]) => name!);
  const listed = tableIn(sectionOf(documentAt("docs/reference/api.md"), "WorkerEvents")).map(
    ([name]) => codeIn(name!)[0],
  );
  expect(listed).toEqual(events);
});

test("api.md lists every event of a supervisor", () => {
  const source = readFileSync(join(repo, "src/pool/supervisor-events.ts"), "utf8");
  const body = /interface SupervisorEvents \{([\s\S]+?)\n\}/.exec(source)![1]!;
  const events = [...body.matchAll(/^ {2}(\w+): \[/gm)].map(([, name]) => name!);
  const listed = tableIn(sectionOf(documentAt("docs/reference/api.md"), "SupervisorEvents")).map(
    ([name]) => codeIn(name!)[0],
  );
  expect(listed).toEqual(events);
});

test("sql.md has the signature of every public function, and of no other", async () => {
  const functions = await db.query<{ name: string; arguments: string; result: string }>(
    `select proname as name, pg_get_function_arguments(oid) as arguments, pg_get_function_result(oid) as result
     from pg_proc where pronamespace = 'fairmill'::regnamespace and proname ~ '_v[0-9]+$' order by 1`,
  );
  const page = documentAt("docs/reference/sql.md");
  const written = page.blocks.map(({ text }) => text.replaceAll(/\s+/g, " "));
  expect(written.toSorted()).toEqual(functions.map(signatureOf).toSorted());
  const headings = [...page.prose.matchAll(/^### (\w+_v\d+)$/gm)].map(([, name]) => name!);
  expect(headings).toEqual(written.map((signature) => /^\w+/.exec(signature)![0]));
  const shelves = tableIn(sectionOf(page, "Which functions are whose"));
  const listed = shelves.flatMap((row) => [...row.join().matchAll(/\[(\w+)\]/g)].map(([, name]) => name!));
  // An index calls it, and no session does.
  expect([...listed, "level_v1"].toSorted()).toEqual(headings.toSorted());
});

/** As people write it: short names of types, no casts, results behind an arrow. */
function signatureOf(f: { name: string; arguments: string; result: string }): string {
  const short = (text: string) =>
    text
      .replaceAll("timestamp with time zone", "timestamptz")
      .replaceAll("double precision", "float8")
      .replaceAll(/::[a-z0-9]+(\[\])?/g, "")
      .replaceAll("'00:00:15'", "'15 seconds'")
      .replaceAll(/DEFAULT NULL/g, "default null")
      .replaceAll("DEFAULT", "default");
  const parts = short(f.arguments).split(", ");
  const given = parts.filter((part) => !part.startsWith("OUT "));
  const returned = parts.filter((part) => part.startsWith("OUT ")).map((part) => part.slice(4));
  const result = returned.length > 0 ? `(${returned.join(", ")})` : short(f.result).replace("TABLE(", "table (");
  return `${f.name}(${given.join(", ")}) → ${result}`;
}

test("sql.md lists every table, and every column of a job", async () => {
  const page = documentAt("docs/reference/sql.md");
  const tables = await db.query<{ name: string }>(
    "select relname::text as name from pg_class where relnamespace = 'fairmill'::regnamespace and relkind in ('r', 'p', 'v') and not relispartition order by 1",
  );
  const section = sectionOf(page, "Tables");
  expect(
    tableIn(section)
      .map(([name]) => codeIn(name!)[0]!)
      .toSorted(),
  ).toEqual(tables.map(({ name }) => name));
  const columns = await db.query<{ name: string }>(
    "select distinct column_name::text as name from information_schema.columns where table_schema = 'fairmill' and table_name in ('job', 'job_history')",
  );
  const named = codeIn(section);
  expect(columns.map(({ name }) => name).filter((name) => !named.includes(name))).toEqual([]);
});

describe("cli.md has every command, argument and option, and no other", () => {
  const page = documentAt("docs/reference/cli.md");
  const commands = [...page.prose.matchAll(/^## fairmill (\w+)$/gm)].map(([, name]) => name!);
  const optionsIn = (text: string) =>
    [...text.matchAll(/^ {2}(?:-\w, )?(--[\w-]+(?: <\w+>)?) {2}/gm)].map(([, option]) => option!);
  const rowsOf = (heading: string) =>
    tableIn(sectionOf(page, heading)).map(([name]) => codeIn(name!)[0]!.replace(/^-\w, /, ""));

  test("commands and common options", async () => {
    const { stdout } = await cli(["--help"]);
    const listed = [.../Commands:\n([\s\S]+?)\n\n/.exec(stdout)![1]!.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name!);
    expect(commands).toEqual(listed.filter((name) => name !== "help"));
    const common = /Options:\n([\s\S]+?)\n\n/.exec(stdout)![1]!;
    expect(rowsOf("Every command").toSorted()).toEqual(optionsIn(common).toSorted());
  });

  const verbsIn = (help: string) =>
    [...(/\nCommands:\n([\s\S]+?)\n\n/.exec(help)?.[1] ?? "").matchAll(/^ {2}(\w+)/gm)].map(([, verb]) => verb!);

  test.each(commands)("fairmill %s, and its subcommands", async (name) => {
    const { stdout } = await cli([name, "--help"]);
    const verbs = verbsIn(stdout);
    const headings = [...page.prose.matchAll(new RegExp(`^### fairmill ${name} (\\w+)$`, "gm"))];
    expect(headings.map(([, verb]) => verb)).toEqual(verbs);
    for (const path of verbs.length === 0 ? [[name]] : verbs.map((verb) => [name, verb])) {
      const help = await cli([...path, "--help"]);
      expect(help.stdout, path.join(" ")).toContain("Examples:\n  fairmill ");
      const own = /\nOptions:\n([\s\S]+?)\n\n/.exec(help.stdout)![1]!;
      expect(rowsOf(`fairmill ${path.join(" ")}`)).toEqual(optionsIn(own).filter((option) => option !== "--help"));
    }
  });

  test("the overview has them, too", async () => {
    const table = tableIn(sectionOf(page, "Overview"));
    expect(table.map(([usage]) => codeIn(usage!)[0]!.split(" ")[1]).toSorted()).toEqual(commands.toSorted());
    const usages = table.map(([usage]) => codeIn(usage!)[0]!.split(" ").slice(1));
    const helps = await Promise.all(usages.map(([name]) => cli([name!, "--help"])));
    for (const [n, [name, ...said]] of usages.entries())
      expect(/^Usage: fairmill \w+ \[options\] ?(.*)$/m.exec(helps[n]!.stdout)![1], name).toBe(said.join(" "));
  });
});

describe("ARCHITECTURE.md", () => {
  const page = documentAt("ARCHITECTURE.md");

  test("lists every folder of the sources", () => {
    const tree = sectionOf(page, "Folders").split("```")[1]!;
    const listed = [...tree.matchAll(/^src\/([\w.]+)/gm)].map(([, name]) => name!);
    expect(listed.toSorted()).toEqual(readdirSync(join(repo, "src")).toSorted());
  });

  test("lists every room of the import rule, and no other", async () => {
    const { MAY_IMPORT } = (await import("../../scripts/rooms.mjs" as string)) as {
      MAY_IMPORT: Record<string, readonly string[]>;
    };
    const tree = sectionOf(page, "Folders").split("```")[1]!;
    const listed = [...tree.matchAll(/^src\/(\w+)/gm)].map(([, name]) => name!);
    // Commands are the folders of that name inside of rooms.
    expect([...listed, "command"].toSorted()).toEqual(Object.keys(MAY_IMPORT).toSorted());
    for (const others of Object.values(MAY_IMPORT))
      for (const other of others) expect(MAY_IMPORT).toHaveProperty(other);
  });

  test("lists the invariants that are asked after every test", () => {
    const asked = new Set(INVARIANTS.map(({ id }) => id));
    const listed = new Set(tableIn(documentAt("docs/explanation/invariants.md").prose).map(([id]) => id!));
    // D9 is kept by an index alone.
    const numbered = [...listed].filter((id) => /^[DI]\d+$/.test(id) && id !== "D9");
    expect(numbered.toSorted()).toEqual([...asked].filter((id) => /^[DI]\d+$/.test(id)).toSorted());
    for (const id of asked) expect(listed).toContain(id);
  });
});

test("no page speaks of exactly-once delivery", () => {
  for (const path of [
    "README.md",
    "docs/explanation/delivery.md",
    "docs/explanation/execution-contract.md",
    "docs/guides/write-handlers.md",
  ])
    expect(documentAt(path).prose, path).not.toMatch(/exactly[- ]once (delivery|processing|execution)/i);
});
