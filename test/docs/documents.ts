// Reads the project's documents: their headings, their links, and their code blocks with what is to be done to each.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const repo = fileURLToPath(new URL("../..", import.meta.url));

export interface Block {
  /** Where it stands: "docs/guides/enqueue.md:12". */
  readonly place: string;
  /** "ts", "sql", … */
  readonly language: string;
  /** What the info string says beyond the language: "run", "norun", "prints", … */
  readonly mark: string;
  readonly text: string;
}

export interface Document {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
  readonly blocks: readonly Block[];
  /** The document without its blocks: links and words are looked for there. */
  readonly prose: string;
}

/** Every document whose samples and links are checked. */
export const documents: readonly Document[] = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...readdirSync(join(repo, "docs"), { recursive: true })
    .map((file) => join("docs", String(file)))
    .filter((file) => file.endsWith(".md"))
    .sort(),
].map(readDocument);

export function documentAt(path: string): Document {
  const found = documents.find((document) => document.path === path);
  if (!found) throw new Error(`There is no document ${path}.`);
  return found;
}

function readDocument(path: string): Document {
  const text = readFileSync(join(repo, path), "utf8");
  const blocks: Block[] = [];
  const prose: string[] = [];
  let open: { line: number; info: string; lines: string[] } | undefined;
  text.split("\n").forEach((line, index) => {
    const fence = /^```(.*)$/.exec(line);
    if (open && fence) {
      const [language = "", ...marks] = open.info.split(/\s+/);
      blocks.push({ place: `${path}:${open.line}`, language, mark: marks.join(" "), text: open.lines.join("\n") });
      open = undefined;
    } else if (open) open.lines.push(line);
    else if (fence) open = { line: index + 1, info: fence[1]!.trim(), lines: [] };
    else prose.push(line);
  });
  if (open) throw new Error(`${path}:${open.line}: this block is never closed.`);
  return { path, text, blocks, prose: prose.join("\n") };
}

/** The part of a document below a heading, up to the next heading of the same or a higher level. */
export function sectionOf(document: Document, heading: string): string {
  const lines = document.text.split("\n");
  const level = (line: string) => (/^#+ /.test(line) ? line.indexOf(" ") : 9);
  const begin = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, "") === heading);
  if (begin === -1) throw new Error(`${document.path} has no heading "${heading}".`);
  const end = lines.findIndex((line, i) => i > begin && level(line) <= level(lines[begin]!));
  return lines.slice(begin + 1, end === -1 ? undefined : end).join("\n");
}

/** The rows of the first table in a text, cell by cell, without its head. */
export function tableIn(text: string): string[][] {
  const lines = text.split("\n");
  const begin = lines.findIndex((line) => line.startsWith("|"));
  if (begin === -1) return [];
  const length = lines.slice(begin).findIndex((line) => !line.startsWith("|"));
  return lines.slice(begin + 2, length === -1 ? undefined : begin + length).map((line) =>
    line
      .slice(1, line.lastIndexOf("|"))
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim()),
  );
}

/** The words in `code` marks. */
export const codeIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);
