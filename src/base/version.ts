// The version of this package, as package.json says, and which of two versions is the later one.
import { createRequire } from "node:module";

export const VERSION = (createRequire(import.meta.url)("../../package.json") as { version: string }).version;

/** Above zero: the first is later. As semver orders them: 1.0.0-beta.2 is before 1.0.0-beta.10, and both are before 1.0.0. */
export function compareVersions(first: string, second: string): number {
  const [a, b] = [first, second].map(partsOf) as [Version, Version];
  return (
    compareParts(a.numbers, b.numbers) ||
    Number(b.isPreview) - Number(a.isPreview) ||
    compareParts(a.preview, b.preview)
  );
}

interface Version {
  readonly numbers: readonly string[];
  readonly isPreview: boolean;
  readonly preview: readonly string[];
}

function partsOf(version: string): Version {
  const [, numbers = "", preview] = /^([^+-]*)(?:-([^+]*))?/.exec(version)!;
  return { numbers: numbers.split("."), isPreview: preview !== undefined, preview: preview?.split(".") ?? [] };
}

function compareParts(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const [one, other] = [a[i] ?? "", b[i] ?? ""];
    const areNumbers = /^\d+$/.test(one) && /^\d+$/.test(other);
    const order = areNumbers ? Number(one) - Number(other) : Number(one > other) - Number(one < other);
    if (order !== 0) return order;
  }
  return 0;
}
