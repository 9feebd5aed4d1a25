// Buttons that put a text on the clipboard.
import { tell } from "../shell/toast";
import { Icon, type IconName } from "./icon";

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    tell(`Copied: ${text.length > 80 ? `${text.slice(0, 80)}…` : text}`);
  } catch {
    tell(`The browser does not allow copying here. Copy it by hand: ${text}`, { failed: true });
  }
}

export const CopyButton = ({ text, label, icon = "copy" }: { text: string; label: string; icon?: IconName }) => (
  <button type="button" class="button ghost icon-only" aria-label={label} title={label} onClick={() => copyText(text)}>
    <Icon name={icon} />
  </button>
);

/** Quotes a word for a POSIX shell. */
export const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** A command of the CLI that says the same as a screen. */
export function cli(
  words: readonly string[],
  options: Readonly<Record<string, string | number | null | undefined>> = {},
): string {
  const tail = Object.entries(options).flatMap(([name, value]) =>
    value === undefined || value === null || value === "" ? [] : [`--${name}`, shellWord(String(value))],
  );
  return ["fairmill", ...words.map(shellWord), ...tail].join(" ");
}
