// Writes the table of routes in docs/reference/http.md from the routes themselves. A test compares the two.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt, root } from "./ensure.mjs";

ensureBuilt();
const { routesTable } = await import(join(root, "dist/http/routes-table.js"));
const path = join(root, "docs/reference/http.md");
const page = readFileSync(path, "utf8");
const [before, after] = [page.split("<!-- routes -->")[0], page.split("<!-- /routes -->")[1]];
writeFileSync(path, `${before}<!-- routes -->\n\n${routesTable()}\n\n<!-- /routes -->${after}`);
