import { rmSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt, ensureInstalled, root } from "./ensure.mjs";

ensureInstalled();
rmSync(join(root, "dist"), { recursive: true, force: true });
ensureBuilt();
