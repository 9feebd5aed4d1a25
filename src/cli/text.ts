// Text for a terminal: nothing in it moves the cursor, and its width is known, so that columns stand in line.
import { visible } from "../base/log.js";

/** Marks that turn the direction of writing, and separators that some terminals take for line ends. */
const TRICKSTERS = /[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** One line, whatever the text contains. */
export const oneLine = (text: string): string => visible(text).replace(TRICKSTERS, escaped);

/** Keeps line ends and nothing else that controls the terminal. */
export const manyLines = (text: string): string => visible(text, true).replace(TRICKSTERS, escaped);

/** JSON leaves some control characters as they are; written as \u…, they mean the same and do no harm. */
export const toJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent)
    .replace(/[\u007f-\u009f]/g, escaped)
    .replace(TRICKSTERS, escaped);

/** The text as one word of a POSIX shell, in a command that may be copied. What controls a terminal stands there as an escape ($'…'). */
export function shellWord(text: string): string {
  if (/^[\w@%+:,./-][\w@%+=:,./-]*$/.test(text)) return text;
  if (oneLine(text) === text) return `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return `$'${oneLine(text.replaceAll(/['\\]/g, String.raw`\$&`).replaceAll(/\p{Cc}/gu, escaped))}'`;
}

export const indented = (text: string, by = "  "): string => text.replace(/^/gm, by);

const characters = new Intl.Segmenter("en", { granularity: "grapheme" });
const WIDE =
  /\p{Emoji_Presentation}|\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|[\uff01-\uff60]/u;
const NARROW = /^[\x20-\x7e]*$/;

/** How many columns of a terminal the text takes. */
export function widthOf(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const { segment } of characters.segment(text)) width += widthOfCharacter(segment);
  return width;
}

const widthOfCharacter = (character: string) =>
  WIDE.test(character) ? 2 : /^\p{Mark}|^\u200b/u.test(character) ? 0 : 1;

/** The text cut or padded to exactly this many columns. */
export function fitTo(text: string, width: number): string {
  const taken = widthOf(text);
  return taken <= width ? text + " ".repeat(width - taken) : cutTo(text, width);
}

function cutTo(text: string, width: number): string {
  let kept = "";
  let left = width - 1;
  for (const { segment } of characters.segment(text)) {
    left -= widthOfCharacter(segment);
    if (left < 0) break;
    kept += segment;
  }
  return fitTo(`${kept}…`, width);
}

/** For the gap in a list of attempts: the database keeps the first and the last of them. */
export const droppedText = (count: number): string =>
  count === 1 ? "1 attempt is not kept" : `${count} attempts are not kept`;
