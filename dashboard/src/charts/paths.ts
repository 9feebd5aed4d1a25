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
    path += `${open ? "L" : "M"}${at(xs[index]!)} ${at(y)}`;
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
export function stepLine(xs: readonly number[], end: number, ys: readonly number[]): string {
  return xs.map((x, index) => `${index ? "L" : "M"}${at(x)} ${at(ys[index]!)}H${at(xs[index + 1] ?? end)}`).join("");
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
