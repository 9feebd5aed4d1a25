// docs/reference/http.md and settings.md say of the HTTP API what its code says.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "fairmill";
import { createAnswerToken, createHttpHandler, createJobToken } from "fairmill/http";
import { expect, test } from "vitest";
import { routesTable } from "../../src/http/routes-table.js";
import { codeIn, documentAt, repo, sectionOf, tableIn } from "./documents.js";

test("http.md has every route with its role and members; `node scripts/http-reference.mjs` writes it", () => {
  const page = readFileSync(join(repo, "docs/reference/http.md"), "utf8");
  const written = page.split("<!-- routes -->")[1]!.split("<!-- /routes -->")[0]!.trim();
  expect(written).toBe(routesTable());
});

test.each([
  ["createHttpHandler", () => createHttpHandler({ nope: 1 } as object)],
  ["createAnswerToken", () => createAnswerToken("1", "s", { nope: 1 } as object)],
  ["createJobToken", () => createJobToken("1", { nope: 1 } as object)],
])("settings.md lists exactly the settings of %s", (heading, give) => {
  const rows = tableIn(sectionOf(documentAt("docs/reference/settings.md"), heading)).flatMap(([names]) =>
    codeIn(names!),
  );
  expect(give).toThrow(ConfigError);
  try {
    give();
  } catch (error) {
    expect(rows.toSorted()).toEqual(
      / Known: (.+)\.$/
        .exec((error as Error).message)![1]!
        .split(", ")
        .toSorted(),
    );
  }
});

test("api.md names everything that fairmill/http exports", () => {
  const source = readFileSync(join(repo, "src/http/index.ts"), "utf8");
  const exported = [...source.matchAll(/export (?:type )?\{([^}]+)\}/g)]
    .flatMap(([, names]) => names!.split(","))
    .map((name) => name.trim().replace(/^type /, ""))
    .filter((name) => name !== "");
  const section = sectionOf(documentAt("docs/reference/api.md"), "HTTP");
  const named = new Set(codeIn(section).flatMap((code) => code.match(/\w+/g) ?? []));
  expect(exported.filter((name) => !named.has(name))).toEqual([]);
});
