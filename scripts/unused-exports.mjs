// What a module exports, another one uses: a value that is exported and named in no other file, and a type that is named nowhere at all, are left over from
// something that is gone. Names are looked for as words, so that what is loaded by its name counts, too.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { root } from "./ensure.mjs";

const FOLDERS = ["bench", "chaos", "dashboard/src", "examples", "scripts", "src"];
const READERS = [...FOLDERS, "test"];
/** The text of a new project's file, in which words stand for a user's. */
const EXCEPT = ["src/init/starter.ts"];
const EXPORT = /^export (?:async )?(?:abstract )?(const|let|function\*?|class|interface|type) ([\w$]+)/gm;

const isCode = (file) => /\.(?:ts|tsx|mjs|mts)$/.test(file) && !file.includes("node_modules");
const textOf = new Map(
  READERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((file) => join(root, folder, file)),
  )
    .filter(isCode)
    .map((file) => [relative(root, file), readFileSync(file, "utf8")]),
);
/** By word the files that have it; the second time in one file counts as well. */
const users = new Map();
for (const [file, text] of textOf)
  for (const [word] of text.matchAll(/[A-Za-z_$][\w$]*/g)) {
    const known = users.get(word) ?? { files: new Set(), times: 0 };
    known.files.add(file);
    known.times++;
    users.set(word, known);
  }

const faults = [];
for (const [file, text] of textOf) {
  if (!FOLDERS.some((folder) => file.startsWith(`${folder}/`)) || EXCEPT.includes(file)) continue;
  for (const [, what, name] of text.matchAll(EXPORT)) {
    const { files, times } = users.get(name);
    const isType = what === "interface" || what === "type";
    if (isType ? times === 1 : files.size === 1)
      faults.push(`${file}: ${name} is exported, and ${isType || times === 1 ? "nothing" : "no other file"} uses it`);
  }
}
if (faults.length > 0) {
  console.error(faults.join("\n"));
  process.exit(1);
}
console.log(`Exports: ${textOf.size} files, none unused.`);
