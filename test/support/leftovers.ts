// What a test that failed left running is ended before the database is looked at: otherwise one failure would make the next ones fail. And what a file
// shares (folders, servers) goes with it. One process runs many files, and loads what they share once: so the hooks are those of `hooks.ts`, which every
// file runs anew.

type End = () => Promise<void>;

const afterEachTest = new Set<End>();
const afterThisTest = new Set<End>();
const afterFile = new Set<End>();
let isInTest = false;

export function beginTest(): void {
  isInTest = true;
}

/** Is called before anything is checked: after each test, or, where a test asks for it, after that one. */
export const endAfterTest = (end: End): void => void (isInTest ? afterThisTest : afterEachTest).add(end);

/** Is called after the last test of each file. */
export const endAfterFile = (end: End): void => void afterFile.add(end);

export async function endLeftovers(): Promise<void> {
  isInTest = false;
  const ends = [...afterEachTest, ...afterThisTest];
  // Before they are called: one that fails is not called again for tests that have nothing to do with it.
  afterThisTest.clear();
  await endAll(ends);
}

export async function endOfFile(): Promise<void> {
  // Once more: hooks after a hook that failed are left out.
  await endLeftovers();
  await endAll(afterFile);
}

/** All of them, also behind one that fails. */
async function endAll(ends: Iterable<End>): Promise<void> {
  const faults: unknown[] = [];
  for (const end of ends) await end().catch((error: unknown) => void faults.push(error));
  if (faults.length > 0) throw faults.length === 1 ? faults[0] : new AggregateError(faults, "several ends failed");
}
