// Where this package came from: what a new project has to say to install the same one.
import { readFile } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";

const MODULES = `${sep}node_modules${sep}`;

/** What stands for `fairmill` among the dependencies of a project in `project`: a range of versions where it came from a registry, else the file, folder or address that it came from. */
export async function ownSource(packageFolder: string, project: string, version: string): Promise<string> {
  const end = packageFolder.indexOf(MODULES);
  if (end < 0) return fileSpec(project, packageFolder);
  const owner = packageFolder.slice(0, end);
  const said = await saidBy(join(owner, "package.json"));
  if (said === undefined || !/[:/]/.test(said)) return `^${version}`;
  const path = /^(?:file:|link:)?((?:\.{0,2}\/|[^:]*\.tgz$).*)$/.exec(said)?.[1];
  return path === undefined ? said : fileSpec(project, resolve(owner, path));
}

async function saidBy(manifest: string): Promise<string | undefined> {
  try {
    const { dependencies, devDependencies } = JSON.parse(await readFile(manifest, "utf8")) as Record<
      "dependencies" | "devDependencies",
      Record<string, unknown> | undefined
    >;
    const said = dependencies?.["fairmill"] ?? devDependencies?.["fairmill"];
    return typeof said === "string" ? said : undefined;
  } catch {
    return undefined; // no manifest, as beside a global installation
  }
}

const fileSpec = (project: string, path: string): string => `file:${relative(project, path).replaceAll(sep, "/")}`;
