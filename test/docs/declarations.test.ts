// The package's declarations in a project of a user who checks libraries, too: strict, and without `skipLibCheck`.
import { cp, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../cli/cli.js";
import { repo } from "./documents.js";
import { compile } from "./sample-project.js";

/** Every door of the package. */
const { exports } = JSON.parse(await readFile(join(repo, "package.json"), "utf8")) as { exports: object };
const ENTRIES = Object.keys(exports)
  .filter((door) => door !== "./package.json")
  .map((door) => door.slice(1));

const USE = `${ENTRIES.map((entry, n) => `import * as entry${n} from "fairmill${entry}";`).join("\n")}
import { createClient, createWorker, defineJob, handle } from "fairmill";

const job = defineJob<{ n: number }>({ kind: "job" });
const worker = createWorker({ handlers: [handle(job, (ctx) => ctx.input.n)] });
worker.events.on("claimed", ({ claims }) => claims.map((claim) => claim.id.toUpperCase()));
worker.events.once("stopped", ({ released }) => released.toFixed());
// @ts-expect-error: the name of an event that does not exist
worker.events.on("claimed", ({ nothing }) => nothing);
export const all = [createClient(), ${ENTRIES.map((_, n) => `entry${n}`).join(", ")}];
`;

/** Packages under node_modules that hold the types of Node: the oldest release that we support, and a new one. How modules are resolved: as Node does, and as bundlers do. */
test.each([
  ["@types/node", "nodenext", "nodenext"],
  ["@types/node", "esnext", "bundler"],
  ["node-types-newest", "node16", "node16"],
])("compile with the types of Node in %s, module %s, resolution %s", async (types, module, moduleResolution) => {
  const folder = await scratchFolder({
    "package.json": JSON.stringify({ type: "module" }),
    "use.ts": USE,
    "tsconfig.json": JSON.stringify({
      compilerOptions: {
        target: "es2022",
        ...{ module, moduleResolution },
        strict: true,
        skipLibCheck: false,
        types: ["node"],
        noEmit: true,
      },
    }),
  });
  // Copies, not links: the compiler goes by a file's real path, and would find the types of this repository.
  const modules = join(folder, "node_modules");
  await mkdir(join(modules, "fairmill"), { recursive: true });
  await cp(join(repo, "package.json"), join(modules, "fairmill", "package.json"));
  await cp(join(repo, "dist"), join(modules, "fairmill", "dist"), {
    recursive: true,
    filter: (path) => !/\.(js|map)$/.test(path),
  });
  await cp(join(repo, "node_modules", types), join(modules, "@types", "node"), { recursive: true });
  if (types === "@types/node")
    await cp(join(repo, "node_modules", "undici-types"), join(modules, "undici-types"), { recursive: true });
  expect(await compile(folder)).toEqual({ code: 0, output: "" });
});
