// Whole numbers in a JSON text that JavaScript cannot keep: JSON.parse takes the nearest one that it knows, and says nothing.

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

export interface InexactInteger {
  readonly written: string;
  readonly read: string;
}

/** The first whole number of a valid JSON text that is another one once it is parsed. Fractions are approximate everywhere. */
export function findInexactInteger(json: string): InexactInteger | undefined {
  if (!/\d{16}/.test(json)) return undefined;
  for (const [written] of json.matchAll(TOKEN)) {
    if (!/^-?\d{16,}$/.test(written)) continue;
    const number = Number(written);
    const read = String(number);
    // The shortest digits of a number, as JavaScript writes them, are that number; so are all its digits.
    if (read !== written && !(Number.isFinite(number) && BigInt(number) === BigInt(written))) return { written, read };
  }
  return undefined;
}

export const inexactText = ({ written, read }: InexactInteger): string =>
  `the number ${shorten(written)} would be kept as ${shorten(read)}, because JavaScript counts exactly to 2^53 only: write it as a text`;

const shorten = (digits: string): string => (digits.length <= 40 ? digits : `${digits.slice(0, 40)}…`);
