// `npm run check`: format and lint, types, import directions.
import { ensureInstalled, run, tool } from "./ensure.mjs";

ensureInstalled();
run(tool("biome"), ["check", "."]);
run(tool("tsc"), ["-p", "tsconfig.json"]);
run(process.execPath, ["scripts/import-directions.mjs"]);
