// `npm run test:fast`: every test but those of the slowest files, for everyday work. `npm test` runs all of them.
import { ensureBuilt, ensureInstalled, run, tool } from "./ensure.mjs";

/** Fleets of real processes, crashes of PostgreSQL, browsers, every sample of the documents, a million rows: minutes together. */
const SLOW = [
  ...["**/*fleet*", "**/*-race*", "**/*-mix*", "**/*crash*", "**/lost-claims*", "**/migrate-busy*", "**/claim-cost*"],
  ...["**/database-failures*", "**/hostile*", "**/plans*", "**/large*", "**/versions*", "**/schema-fit*", "**/doctor*"],
  ...["test/dashboard/**", "test/docs/samples*", "test/embedded/**", "test/pool/**", "test/stickers/**", "test/cli/**"],
  ...["**/connections*", "**/pooler*", "**/idle*", "**/pg-cron*", "test/adapters/**", "test/init/**", "test/chaos/**"],
];

ensureInstalled();
ensureBuilt();
run(tool("vitest"), ["run", ...SLOW.flatMap((pattern) => ["--exclude", pattern]), ...process.argv.slice(2)]);
