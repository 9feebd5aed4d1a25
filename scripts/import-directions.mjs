// Imports inside `src/` go one way (see ARCHITECTURE.md). Each folder lists the folders it may import from, besides itself.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { root } from "./ensure.mjs";

const stages = ["enqueue", "claim", "run", "deliver", "settle", "upkeep"];
const MAY_IMPORT = {
  model: [],
  observe: ["model"],
  store: ["model", "observe"],
  adapters: ["model", "store"],
  enqueue: ["model", "store", "observe"],
  claim: ["model", "store", "observe"],
  run: ["model", "observe"],
  deliver: ["model", "observe"],
  settle: ["model", "store", "observe"],
  upkeep: ["model", "store", "observe"],
  worker: ["model", "store", "observe", ...stages],
  embedded: ["model"],
  cli: ["model", "store", "observe", ...stages, "worker", "embedded", "index"],
  index: ["model", "store", "observe", ...stages, "worker"],
};
/** Only the store talks to the database driver. */
const ONLY_IN = { pg: ["store"], commander: ["cli"], jiti: ["cli"], pino: ["observe"] };

const source = join(root, "src");
const files = readdirSync(source, { recursive: true })
  .map((file) => join(source, file.toString()))
  .filter((file) => file.endsWith(".ts"));
const folderOf = (file) => {
  const parts = relative(source, file).split(sep);
  return parts.length === 1 ? parts[0].replace(/\.[tj]s$/, "") : parts[0];
};

const faults = [];
const imports = new Map();
for (const file of files) {
  const from = folderOf(file);
  if (!(from in MAY_IMPORT)) faults.push(`src/${from}: not in the map of scripts/import-directions.mjs`);
  const targets = [];
  for (const [, name] of readFileSync(file, "utf8").matchAll(
    /(?:^|\s)(?:import|export)\s[^;"']*?from\s+"([^"]+)"|import\("([^"]+)"\)/g,
  )) {
    if (!name) continue;
    if (name.startsWith(".")) {
      const target = resolve(dirname(file), name.replace(/\.js$/, ".ts"));
      targets.push(target);
      const to = folderOf(target);
      if (to !== from && !MAY_IMPORT[from]?.includes(to))
        faults.push(`${relative(root, file)} imports ${relative(root, target)}: ${from} may not import ${to}`);
    } else if (ONLY_IN[name] && !ONLY_IN[name].includes(from)) {
      faults.push(`${relative(root, file)} imports ${name}: only ${ONLY_IN[name].join(", ")} may`);
    }
  }
  imports.set(file, targets);
}

/** Import cycles, found by a depth-first walk. */
const state = new Map();
function walk(file, path) {
  if (state.get(file) === "done") return;
  if (state.get(file) === "open") {
    faults.push(
      `import cycle: ${[...path.slice(path.indexOf(file)), file].map((f) => relative(source, f)).join(" → ")}`,
    );
    return;
  }
  state.set(file, "open");
  for (const next of imports.get(file) ?? []) walk(next, [...path, file]);
  state.set(file, "done");
}
for (const file of files) walk(file, []);

if (faults.length > 0) {
  console.error(faults.join("\n"));
  process.exit(1);
}
console.log(`Import directions: ${files.length} files, no fault.`);
