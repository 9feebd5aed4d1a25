// How a refused value is shown in a message: short, and whatever it is, without throwing.

const CHARS_MAX = 200;

export function showValue(value: unknown): string {
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "symbol") return String(value);
  try {
    const text = JSON.stringify(value) ?? typeof value;
    return text.length > CHARS_MAX ? `${text.slice(0, CHARS_MAX)}…` : text;
  } catch {
    return `a value of type ${typeof value}`;
  }
}
