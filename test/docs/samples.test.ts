// Every sample in the documents. What is done to a block stands behind its language:
//
//   ts           compiled, in a folder per document; a first line `// name.ts` names the file
//   ts run       also run, to its end, with exit code 0
//   sql          run on the document's database, in order; `sql norun` is not
//   sh           its `fairmill` commands are parsed: command and options exist
//   sh run       also run, with exit code 0; `sh background` is started, and stopped by SIGTERM at the document's end
//   text prints  what the block before must print; `…` is anything
import { beforeAll, describe, expect, test } from "vitest";
import { cli } from "../cli/cli.js";
import { freshDatabase } from "../support/database.js";
import { type Document, documents } from "./documents.js";
import { infoOf, isRun, Reader } from "./reader.js";
import { makeProject, type SampleProject, samples } from "./sample-project.js";
import { commandsIn } from "./shell.js";

const KNOWN = ["ts", "ts run", "sql", "sql norun", "sh", "sh run", "sh background", "text", "text prints", "mermaid"];
/** Begins where its reader does: before the schema exists. */
const STARTS_EMPTY = ["README.md"];
/** Begins before there is a PostgreSQL: `fairmill dev` brings it. */
const STARTS_WITHOUT_DATABASE = ["docs/tutorials/first-job.md"];

let project: SampleProject;
beforeAll(async () => {
  project = await makeProject();
});

test("every block says what is to be done to it", () => {
  const unknown = documents.flatMap(({ blocks }) => blocks.filter((block) => !KNOWN.includes(infoOf(block))));
  expect(unknown.map((block) => `${block.place}: ${infoOf(block) || "no language"}`)).toEqual([]);
});

test("no two blocks of a document are the same file", () => {
  const files = samples.map(({ file }) => file);
  expect(files.filter((file, i) => files.indexOf(file) !== i)).toEqual([]);
});

test("every TypeScript sample compiles with the project's own settings", () => {
  expect(project.compiler).toEqual({ code: 0, output: "" });
  expect(samples.length).toBeGreaterThan(15);
});

describe("what a document runs does what the document says", () => {
  const running = documents.filter(({ blocks }) => blocks.some(isRun));
  test.each(running.map((document): [string, Document] => [document.path, document]))("%s", async (path, document) => {
    if (STARTS_WITHOUT_DATABASE.includes(path)) return new Reader(document, project.folder, undefined).read();
    const database = await freshDatabase({ empty: STARTS_EMPTY.includes(path) });
    try {
      await new Reader(document, project.folder, database.url).read();
    } finally {
      await database.drop();
    }
  });
});

describe("every command in the documents exists, with its options", () => {
  const commands = documents.flatMap(({ blocks }) =>
    blocks
      .filter(({ language }) => language === "sh")
      .flatMap((block) => commandsIn(block.text).map((command) => ({ ...command, place: block.place }))),
  );
  const names = [...new Set(commands.map(({ words }) => words[0] ?? ""))];
  test.each(names)("fairmill %s", async (name) => {
    const group = await cli([name, "--help"]);
    expect(group).toMatchObject({ code: 0, stderr: "" });
    const verbs = [...(/\nCommands:\n([\s\S]+?)\n\n/.exec(group.stdout)?.[1] ?? "").matchAll(/^ {2}(\w+)/gm)].map(
      ([, verb]) => verb!,
    );
    const wrong: string[] = [];
    for (const { words, place, line } of commands.filter(({ words }) => words[0] === name)) {
      const [, second] = words;
      const isVerb = second !== undefined && !second.startsWith("-");
      // A thing alone is its list.
      const verb = isVerb ? second : "list";
      const help = verbs.includes(verb) ? await cli([name, verb, "--help"]) : group;
      const known = new Set(help.stdout.match(/--[a-z][\w-]*/g));
      const isUnknown = (word: string) => /^--\w/.test(word) && !known.has(word.split("=")[0]!);
      if (words.some(isUnknown) || (verbs.length > 0 && isVerb && !verbs.includes(second)))
        wrong.push(`${place}: ${line}`);
    }
    expect(wrong).toEqual([]);
  });
});
