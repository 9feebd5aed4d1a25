// Numbers, sizes and shares as people read them. One locale, so that two people who look at the same screen see the same.
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const precise = new Intl.NumberFormat("en", { maximumFractionDigits: 6 });

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

/** A value that may be missing is a dash, never a zero. */
export const NOTHING = "–";

export const count = (value: number | null | undefined): string => (isNumber(value) ? whole.format(value) : NOTHING);

export const decimal = (value: number | null | undefined): string =>
  isNumber(value) ? precise.format(value) : NOTHING;

/** 12,400 → 12.4k; for figures and axes, where the exact number is a hover away. */
export function compact(value: number | null | undefined): string {
  if (!isNumber(value)) return NOTHING;
  const size = Math.abs(value);
  if (size >= 1e9) return `${trim(value / 1e9)}G`;
  if (size >= 1e6) return `${trim(value / 1e6)}M`;
  if (size >= 1e4) return `${trim(value / 1e3)}k`;
  if (size >= 100 || Number.isInteger(value)) return whole.format(value);
  return trim(value);
}

const trim = (value: number): string =>
  new Intl.NumberFormat("en", {
    maximumFractionDigits: Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2,
  }).format(value);

export const rate = (value: number | null | undefined): string => (isNumber(value) ? trim(value) : NOTHING);

export const percent = (share: number | null | undefined, digits = 0): string =>
  isNumber(share) ? `${(share * 100).toFixed(share > 0 && share < 0.01 && digits === 0 ? 1 : digits)}%` : NOTHING;

export function bytes(value: number | null | undefined): string {
  if (!isNumber(value)) return NOTHING;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = value;
  let unit = 0;
  while (Math.abs(size) >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${trim(size)} ${units[unit]}`;
}

/** Plural by adding an s, unless it is given. */
export const many = (value: number, noun: string, nouns = `${noun}s`): string =>
  `${count(value)} ${value === 1 ? noun : nouns}`;

const cents = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
export const money = (value: number | null | undefined): string => (isNumber(value) ? cents.format(value) : NOTHING);

/** "All 3 limits in units.", "One limit in units." */
export const allOf = (shown: number, name: string): string =>
  shown === 1 ? `One ${singular(name)}.` : `All ${shown} ${name}.`;
/** "limits in units" → "limit in units". */
export const singular = (name: string): string => name.replace(/s(?=$| )/, "");
