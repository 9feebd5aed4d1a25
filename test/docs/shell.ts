// The `fairmill` commands in a block of shell: as words, the way a shell would hand them over.

export interface ShellCommand {
  readonly line: string;
  /** Without the command's own name. */
  readonly words: readonly string[];
}

/** Finds `fairmill …` and `npx fairmill …` at the beginning of lines, behind variables that are set for the command. */
export function commandsIn(text: string): ShellCommand[] {
  return text.split("\n").flatMap((line) => {
    const command = /^(?:\w+=\S* )*(?:npx )?fairmill\b(.*)$/.exec(line);
    return command ? [{ line, words: wordsOf(command[1]!) }] : [];
  });
}

/** Words up to a pipe, a redirection or a comment; quotes hold words together. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [, single, double, plain] of text.matchAll(/'([^']*)'|"([^"]*)"|([^\s'"]+)/g)) {
    if (plain !== undefined && /^[|<>#&;]/.test(plain)) break;
    words.push(single ?? double ?? plain!);
  }
  return words;
}
