// What a test that failed left running is ended before the database is looked at: otherwise one failure would make the next ones fail. And what a file
// shares (folders, servers) goes with it. One process runs many files, and loads what they share once: so the hooks are those of `hooks.ts`, which every
// file runs anew.

const afterTest = new Set<() => Promise<void>>();
const afterFile = new Set<() => Promise<void>>();

/** Is called after each test, before anything is checked. */
export const endAfterTest = (end: () => Promise<void>): void => void afterTest.add(end);

/** Is called after the last test of each file. */
export const endAfterFile = (end: () => Promise<void>): void => void afterFile.add(end);

export async function endLeftovers(): Promise<void> {
  for (const end of afterTest) await end();
}

export async function endOfFile(): Promise<void> {
  // Once more: hooks after a hook that failed are left out.
  await endLeftovers();
  for (const end of afterFile) await end();
}
