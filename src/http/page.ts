// Pages of lists: one row more than asked for tells whether there is a next page. A list that takes too long answers a notice instead of failing.
import { LIST_MS_MAX, wasTooSlow } from "./backend.js";

export interface Notice {
  readonly code: "STATEMENT_LIMIT" | "LOOKED_AT_PART";
  readonly message: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
  readonly notice: Notice | null;
}

export const TOO_SLOW: Notice = {
  code: "STATEMENT_LIMIT",
  message: `This took longer than ${LIST_MS_MAX / 1000} s and was stopped. Narrow the filter.`,
};

export async function pageOf<T>(
  limit: number,
  read: (rows: number) => Promise<readonly T[]>,
  cursorOf: (last: T) => string,
): Promise<Page<T>> {
  return patiently<Page<T>>(
    async () => {
      const rows = await read(limit + 1);
      const items = rows.slice(0, limit);
      return { items, next: rows.length > limit ? cursorOf(items.at(-1)!) : null, notice: null };
    },
    { items: [], next: null, notice: TOO_SLOW },
  );
}

/** `otherwise`: what is answered where the statement was stopped. */
export async function patiently<T>(ask: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (wasTooSlow(error)) return otherwise;
    throw error;
  }
}

export const mapPage = <T, U>(page: Page<T>, change: (item: T) => U): Page<U> => ({
  ...page,
  items: page.items.map(change),
});
