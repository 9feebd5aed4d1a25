// `npm run check`: format and lint, types, import directions.
import { ensureBuilt, ensureInstalled, run, tool } from "./ensure.mjs";

ensureInstalled();
// Tests are typed against what is built.
ensureBuilt();
run(tool("biome"), ["check", "."]);
run(tool("tsc"), ["-p", "tsconfig.json"]);
run(process.execPath, ["scripts/import-directions.mjs"]);
