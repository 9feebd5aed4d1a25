// The texts of the SQL functions as the package brings them, by name: a test need not know on which shelf one lies.
import { readShipped } from "../../../src/db/migrate/shipped.js";

export async function functionTexts(): Promise<Map<string, string>> {
  const { functions } = await readShipped();
  return new Map(functions.map(({ name, text }) => [name.slice("functions/".length), text]));
}
