// Watches files for changes. Their folders are watched, because editors put a new file in the place of the old one.
import { type FSWatcher, statSync, watch } from "node:fs";
import { basename, dirname } from "node:path";
import { systemClock } from "../base/clock.js";

/** An editor writes a file in several steps, and several files at once. */
const QUIET_MS = 100;

export class WatchedFiles {
  readonly #onChange: (files: readonly string[]) => void;
  /** Each file with the mark of its content. */
  readonly #files = new Map<string, string>();
  readonly #folders = new Map<string, FSWatcher>();
  #forget = () => {};

  /** `onChange` is called once for changes that come together. */
  constructor(onChange: (files: readonly string[]) => void) {
    this.#onChange = onChange;
  }

  add(file: string): void {
    if (this.#files.has(file)) return;
    this.#files.set(file, markOf(file));
    const folder = dirname(file);
    if (this.#folders.has(folder)) return;
    const watcher = watch(folder, (_, name) => {
      if (name === null || this.#files.has(`${folder}/${basename(name)}`)) this.#lookSoon();
    });
    // A folder that was removed: its files changed, too.
    watcher.on("error", () => this.#lookSoon());
    this.#folders.set(folder, watcher);
  }

  close(): void {
    this.#forget();
    for (const watcher of this.#folders.values()) watcher.close();
  }

  #lookSoon(): void {
    this.#forget();
    this.#forget = systemClock.after(QUIET_MS, () => {
      const changed = [...this.#files].flatMap(([file, mark]) => (markOf(file) === mark ? [] : [file]));
      for (const file of changed) this.#files.set(file, markOf(file));
      if (changed.length > 0) this.#onChange(changed);
    });
  }
}

function markOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? "gone" : `${found.mtimeMs} ${found.size} ${found.ino}`;
}
