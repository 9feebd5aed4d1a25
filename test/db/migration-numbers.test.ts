// Numbers of migrations only have to rise: a number that is missing means nothing, and the highest is the generation.
import { expect, test } from "vitest";
import { migrate } from "../../src/db/migrate/migrate.js";
import { pieceOf, readShipped, shippedOf } from "../../src/db/migrate/shipped.js";
import { database, open, session } from "./databases.js";

const invented = (no: string, column: string) =>
  pieceOf(`migrations/${no}_invented`, `alter table fairmill.queue add column ${column} integer`);

test("migrations with gaps between their numbers are applied in order, and nothing is left to do", async () => {
  const { url } = await database({});
  const now = await readShipped();
  const added = [invented("0913", "first_novelty"), invented("0917", "second_novelty")];
  const shipped = shippedOf([...now.migrations, ...added], now.functions);
  expect(shipped.generation).toBe(917);
  expect(await migrate(open(url), { shipped })).toEqual(added.map(({ name }) => name));
  expect(await migrate(open(url), { shipped })).toEqual([]);
  const ask = await session(url);
  expect(await ask.query("select generation from fairmill.schema_state")).toEqual([{ generation: 917 }]);
});

test("a migration whose number lies before one that was applied is made up for", async () => {
  const { url } = await database({});
  const now = await readShipped();
  const [early, late] = [invented("0913", "first_novelty"), invented("0917", "second_novelty")];
  await migrate(open(url), { shipped: shippedOf([...now.migrations, late], now.functions) });
  const both = shippedOf([...now.migrations, early, late], now.functions);
  expect(await migrate(open(url), { shipped: both })).toEqual([early.name]);
  expect(await migrate(open(url), { shipped: both })).toEqual([]);
});
