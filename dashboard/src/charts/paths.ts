// Paths of lines and areas. Values that are missing are gaps, never zeros.
const at = (value: number): string => (Math.round(value * 10) / 10).toString();

export function linePath(xs: readonly number[], ys: readonly (number | null)[]): string {
  let path = "";
  let open = false;
  for (let index = 0; index < xs.length; index += 1) {
    const y = ys[index];
    if (y === null || y === undefined || !Number.isFinite(y)) {
      open = false;
      continue;
    }
    const next = ys[index + 1];
    // A value between gaps is a short dash: a line needs two.
    const isAlone = !open && (next === null || next === undefined || !Number.isFinite(next));
    path += isAlone ? `M${at(xs[index]! - 2)} ${at(y)}h4` : `${open ? "L" : "M"}${at(xs[index]!)} ${at(y)}`;
    open = true;
  }
  return path;
}

export function areaPath(xs: readonly number[], low: readonly number[], high: readonly number[]): string {
  if (xs.length === 0) return "";
  const forth = xs.map((x, index) => `${index ? "L" : "M"}${at(x)} ${at(high[index]!)}`).join("");
  let back = "";
  for (let index = xs.length - 1; index >= 0; index -= 1) back += `L${at(xs[index]!)} ${at(low[index]!)}`;
  return `${forth}${back}Z`;
}

/** A step per bucket: from its start to the start of the next. */
export function stepLine(xs: readonly number[], end: number, ys: readonly (number | null)[]): string {
  let open = false;
  return xs
    .map((x, index) => {
      const y = ys[index];
      const from = open ? "L" : "M";
      open = y !== null && y !== undefined;
      return open ? `${from}${at(x)} ${at(y!)}H${at(xs[index + 1] ?? end)}` : "";
    })
    .join("");
}

/** The runs of indices at which something is known: what is between them is a gap, and is not filled. */
export function knownRuns(
  length: number,
  isKnown: (index: number) => boolean,
): (readonly [from: number, to: number])[] {
  const runs: [number, number][] = [];
  for (let index = 0; index < length; index += 1) {
    if (!isKnown(index)) continue;
    const last = runs.at(-1);
    if (last && last[1] === index) last[1] = index + 1;
    else runs.push([index, index + 1]);
  }
  return runs;
}

export function stepArea(xs: readonly number[], end: number, low: readonly number[], high: readonly number[]): string {
  let path = "";
  for (let index = 0; index < xs.length; index += 1) {
    const bottom = low[index]!;
    const top = high[index]!;
    if (bottom - top < 0.05) continue;
    const right = xs[index + 1] ?? end;
    path += `M${at(xs[index]!)} ${at(bottom)}V${at(top)}H${at(right)}V${at(bottom)}Z`;
  }
  return path;
}

/** Records come a little later than the present: the end of a line is its last value that is known, and not a gap behind it. */
export const latestOf = (values: readonly (number | null)[]): number | null =>
  values.findLast((value) => value !== null) ?? null;
