// Joins the compiled modules of `dist` into few files, under the names that are imported or started: to load 350 modules takes a process three times as
// long as to load what is in them, and commands, workers, their children and ticks are all processes.
//
// The compiler's files are the input, and are gone afterwards; its declarations stay. What finds a file by its own place (`import.meta.url`) finds it as if
// it were still there.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { rolldown } from "rolldown";
import { root } from "./ensure.mjs";

const dist = join(root, "dist");
const slashed = (path) => path.split(sep).join("/");

/** Started by their path: as threads, or as processes. */
const STARTED = ["cli/pool-child", "core/worker/beat-thread", "pool/child/child-main", "pool/child/orphan-thread"];
/** Of the inside: scripts and tests import them beside the entries, and must meet the same classes. */
const SHARED = [
  ...[
    "base/clock",
    "base/terminal",
    "bulk/bulk-runner",
    "cli/output",
    "cli/program",
    "client/client",
    "core/job/states",
  ],
  ...["core/run/runner", "db/database", "embedded/index", "embedded/run-program", "http/routes-table"],
  ...["pool/health-server", "retention/erasure-runner", "retention/erasure-statements", "verify/verify"],
];

const names = [...new Set([...published(), ...STARTED, ...SHARED])];
/** Stands for `import.meta.url` of a module until it is known in which file the module ends up. */
const PLACE = /__place_of__\("([^"]+)"\)/g;

const bundle = await rolldown({
  input: Object.fromEntries(names.map((name) => [name, join(dist, `${name}.js`)])),
  platform: "node",
  treeshake: false,
  preserveEntrySignatures: "allow-extension",
  checks: { ineffectiveDynamicImport: false },
  external: (id) => !id.startsWith(".") && !id.startsWith(root),
  plugins: [
    {
      name: "places",
      transform: (code, id) =>
        code.includes("import.meta.url")
          ? { code: code.replaceAll("import.meta.url", `__place_of__("${slashed(relative(dist, id))}")`), map: null }
          : undefined,
    },
  ],
});
const { output } = await bundle.generate({
  format: "esm",
  chunkFileNames: "chunks/[name].js",
  codeSplitting: { groups: groups(), includeDependenciesRecursively: false },
});
await bundle.close();

for (const path of modules()) rmSync(path);
for (const { fileName, code } of output) {
  const up = "../".repeat(fileName.split("/").length - 1) || "./";
  const placed = code.replaceAll(PLACE, (_, place) =>
    place === fileName ? "import.meta.url" : `new URL("${up}${place}", import.meta.url).href`,
  );
  mkdirSync(dirname(join(dist, fileName)), { recursive: true });
  writeFileSync(join(dist, fileName), placed);
}

/**
 * Which modules share a file: by themselves they would be cut by which of forty doors need them, into eighty files that every process loads. Threads, small
 * doors and ticks have what they need apart from the rest, and what is loaded later is in no group.
 */
function groups() {
  const thread = reach(["core/worker/beat-thread", "pool/child/orphan-thread"]);
  const base = reach(["errors", "webhooks", "storage/index"]);
  const library = reach(["index"]);
  const tick = reach(["ticks/index"]);
  const command = reach(["cli/main"]);
  const http = reach(["http/index"]);
  const fileOf = (place) => {
    if (thread.has(place)) return "thread";
    if (base.has(place)) return "base";
    // A function that runs ticks starts no threads: it loads nothing that could.
    if (tick.has(place)) return command.has(place) ? "shared" : "tick";
    if (library.has(place)) return command.has(place) ? "common" : "library";
    if (!command.has(place)) return null;
    return http.has(place) ? "http" : "command";
  };
  // What does something when it is loaded is loaded by those who start it.
  const started = new Set([...STARTED, ...commands()]);
  const placeOf = (id) => slashed(relative(dist, id)).replace(/\.js$/, "");
  const isGrouped = (id) => !started.has(placeOf(id)) && fileOf(placeOf(id)) !== null;
  return [{ debugName: "groups", name: (id) => fileOf(placeOf(id)), test: isGrouped }];
}

/** These modules, and all that they load at once, by their places in `dist`. */
function reach(places, reached = new Set()) {
  for (const place of places) {
    if (reached.has(place)) continue;
    reached.add(place);
    const code = readFileSync(join(dist, `${place}.js`), "utf8");
    const next = [...code.matchAll(/^(?:import|export|\}) ?.*?"(\.[^"]+)\.js";$/gm)].map(([, path]) =>
      slashed(join(dirname(place), path)),
    );
    reach(next, reached);
  }
  return reached;
}

/** All modules that are in `dist`, with their maps; the dashboard is built by itself. */
function modules() {
  return readdirSync(dist, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.js(\.map)?$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((path) => !slashed(relative(dist, path)).startsWith("dashboard/"));
}

/** All that are published: the exports of the package, and its command. */
function published() {
  const files = Object.values(manifest().exports).map((one) => one.default);
  return [...inDist(files.filter((file) => file?.endsWith(".js"))), ...commands()];
}

function commands() {
  return inDist(Object.values(manifest().bin));
}

function inDist(files) {
  return files.map((file) => file.replace(/^\.\/dist\/|\.js$/g, ""));
}

function manifest() {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
}
