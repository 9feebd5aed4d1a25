// Single keys while the example runs on a terminal. Raw mode takes Ctrl-C from the terminal's hands, so it is given back as a key.
export type Keys = Readonly<Record<string, () => void>>;

/** Returns what leaves the terminal as it was. */
export function listenForKeys(keys: Keys, input: NodeJS.ReadStream = process.stdin): () => void {
  if (!input.isTTY) return () => {};
  const listener = (chunk: Buffer): void => {
    for (const key of chunk.toString("utf8")) (key === "\u0003" ? keys["q"] : keys[key])?.();
  };
  input.setRawMode(true).resume().on("data", listener);
  return () => {
    input.off("data", listener).setRawMode(false).pause();
  };
}
