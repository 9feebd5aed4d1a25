// The documents hang together: links lead somewhere, paths and tests that are named exist, and the index lists every page.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { codeIn, documentAt, documents, repo, tableIn } from "./documents.js";

interface Link {
  readonly from: string;
  readonly path: string;
  readonly anchor: string | undefined;
}

const links: readonly Link[] = documents.flatMap(({ path: from, prose }) =>
  [...prose.matchAll(/\[[^\]]+\]\(([^)\s]+)\)/g)].map(([, target]) => {
    const [file = "", anchor] = target!.split("#");
    return { from, path: file === "" ? from : normalize(join(dirname(from), file)), anchor };
  }),
);

/** As GitHub makes them of headings. */
const anchorsOf = (path: string) =>
  [...documentAt(path).prose.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );

test("every link leads to a file of the repository", () => {
  const broken = links.filter(({ path }) => !existsSync(join(repo, path)));
  expect(broken).toEqual([]);
  expect(links.length).toBeGreaterThan(50);
});

test("every link to a heading leads to one", () => {
  const broken = links.filter(({ path, anchor }) => anchor !== undefined && !anchorsOf(path).includes(anchor));
  expect(broken).toEqual([]);
});

test("the index lists every page", () => {
  const listed = links.filter(({ from }) => from === "docs/README.md").map(({ path }) => path);
  const missing = documents
    .map(({ path }) => path)
    .filter((path) => path.startsWith("docs/") && !listed.includes(path));
  expect(missing).toEqual(["docs/README.md"]);
});

test("every path that is named exists", () => {
  const missing = documents.flatMap(({ path, prose }) =>
    codeIn(prose)
      .filter((code) => /^(src|sql|test|scripts|docs|examples)\/[\w./-]+$/.test(code))
      // "sql/migrations/0002_<what>.sql" and the like are examples of what does not exist yet.
      .filter((code) => !existsSync(join(repo, code)))
      .map((code) => `${path}: ${code}`),
  );
  expect(missing).toEqual([]);
});

describe("the tests that are said to guard a promise exist", () => {
  /** Cells like `test/worker/fleet.test.ts`: the title of the test */
  const cited = [
    "docs/explanation/invariants.md",
    "docs/explanation/delivery.md",
    "docs/explanation/execution-contract.md",
  ].flatMap((path) =>
    documentAt(path)
      .prose.split(/\n(?=#)/)
      .flatMap(tableIn)
      .map((cells) => /^`(test\/[^`]+)`: (.+)$/.exec(cells.at(-1)!))
      .flatMap((match) => (match ? [[match[1]!, match[2]!] as const] : [])),
  );

  test("there are some", () => {
    expect(cited.length).toBeGreaterThan(20);
  });

  test.each([...new Map(cited.map(([file, title]) => [`${file}: ${title}`, [file, title] as const])).values()])(
    "%s: %s",
    (file, title) => {
      expect(titlesOf(readFileSync(join(repo, file), "utf8"))).toContain(title);
    },
  );
});

/** A test that runs with several settings says with which behind its title. */
const titlesOf = (source: string) =>
  [...source.matchAll(/\btest(?:\.each\([\w.]+\))?\(\s*"([^"]+?)(?:, where \$\w+)?"/g)].map((match) => match[1]);
