// Rates as people say them, in the library's errors and in the database's reasons.
import { expect, test } from "vitest";
import { rateWords } from "../../src/base/rate-words.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase();

test.each([
  [100, 60_000, "100 per minute"],
  [1, 3_600_000, "1 per hour"],
  [5, 90_000, "5 per 90 seconds"],
  [5, 1_000, "5 per second"],
  [7, 86_400_000 * 30, "7 per 30 days"],
  [2, 7_200_000, "2 per 2 hours"],
  [3, 250, "3 per 250 ms"],
  [3, 1, "3 per ms"],
])("%i in %i ms is %s, here and there", async (limit, perMs, words) => {
  expect(rateWords(limit, perMs)).toBe(words);
  expect(await db.query("select fairmill.rate_words($1, $2) as words", [limit, perMs])).toEqual([{ words }]);
});
