// Single keys while the example runs on a terminal. Raw mode takes Ctrl-C from the terminal's hands, so it is given back as a key.
export type Keys = Readonly<Record<string, () => void>>;

const CTRL_C = "\u0003";
const ESCAPE = "\u001b";

/** Returns what leaves the terminal as it was. `other`: a letter that is no key. */
export function listenForKeys(
  keys: Keys,
  other: (letter: string) => void = () => {},
  input: NodeJS.ReadStream = process.stdin,
): () => void {
  if (!input.isTTY) return () => {};
  const listener = (chunk: Buffer): void => {
    const text = chunk.toString("utf8");
    // Arrows and the like: several letters for one key.
    if (text.startsWith(ESCAPE)) return;
    for (const letter of text) {
      const key = letter === CTRL_C ? "q" : letter.toLowerCase();
      if (Object.hasOwn(keys, key)) keys[key]!();
      else if (/[\p{L}\p{N}?]/u.test(letter)) other(letter);
    }
  };
  input.setRawMode(true).resume().on("data", listener);
  // Of a terminal that is closed: the signal that comes with it says so.
  input.on("error", () => {});
  return () => {
    input.off("data", listener).setRawMode(false).pause();
  };
}
