// What a test that failed left running is ended before the database is looked at: otherwise one failure would make the next ones fail.

const endings = new Set<() => Promise<void>>();

/** Is called after each test, before anything is checked. */
export const endAfterTest = (end: () => Promise<void>): void => void endings.add(end);

export async function endLeftovers(): Promise<void> {
  for (const end of endings) await end();
}
