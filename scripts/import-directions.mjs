// Imports inside `src/` go one way (see ARCHITECTURE.md): base ← db ← core ← features ← client, worker ← commands ← cli. Each room lists the rooms it may
// import from, besides itself. The commands of a feature lie in its folder `command` and count as a room of their own.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { root } from "./ensure.mjs";
import { MAY_IMPORT } from "./rooms.mjs";

/** The database driver is known to one room only, and so are the others. */
const ONLY_IN = { pg: ["db"], commander: ["cli", "command"], jiti: ["cli"], pino: ["base"] };

const source = join(root, "src");
const files = readdirSync(source, { recursive: true })
  .map((file) => join(source, file.toString()))
  .filter((file) => file.endsWith(".ts"));
const nameOf = (file) => relative(source, file).split(sep).join("/");
const roomOf = (file) => {
  const parts = nameOf(file).split("/");
  if (parts.length === 1) return parts[0].replace(/\.[tj]s$/, "");
  return parts[1] === "command" ? "command" : parts[0];
};

const faults = [];
const imports = new Map();
for (const file of files) {
  const from = roomOf(file);
  if (!(from in MAY_IMPORT)) faults.push(`src/${from}: not in the map of scripts/import-directions.mjs`);
  const targets = [];
  for (const [, name] of readFileSync(file, "utf8").matchAll(
    /(?:^|\s)(?:import|export)\s[^;"']*?from\s+"([^"]+)"|import\("([^"]+)"\)/g,
  )) {
    if (!name) continue;
    if (name.startsWith(".")) {
      const target = resolve(dirname(file), name.replace(/\.js$/, ".ts"));
      targets.push(target);
      const to = roomOf(target);
      if (to === from || MAY_IMPORT[from]?.includes(to)) continue;
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
