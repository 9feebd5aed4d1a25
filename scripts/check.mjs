// `npm run check`: format and lint, types of library and dashboard, the directions of imports and of SQL calls, exports that nothing uses.
import { ensureBuilt, ensureInstalled, run, tool } from "./ensure.mjs";

ensureInstalled();
// Tests are typed against what is built.
ensureBuilt();
run(tool("biome"), ["check", "."]);
run(tool("tsc"), ["-p", "tsconfig.json"]);
run(tool("tsc"), ["-p", "dashboard/tsconfig.json"]);
// These know a browser, beside Node.
run(tool("tsc"), ["-p", "test/dashboard/tsconfig.json"]);
run(process.execPath, ["scripts/import-directions.mjs"]);
run(process.execPath, ["scripts/unused-exports.mjs"]);
run(process.execPath, ["scripts/sql-directions.mjs"]);
