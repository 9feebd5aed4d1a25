// The schema that everything lives in. In SQL files and statements the word `fairmill` means it; here the configured name takes its place.
import { ConfigError } from "../model/errors.js";

export const DEFAULT_SCHEMA = "fairmill";

export function checkSchemaName(schema: string): string {
  if (/^[a-z_][a-z0-9_]{0,39}$/.test(schema) && schema !== "public" && !schema.startsWith("pg_")) return schema;
  throw new ConfigError(
    "schema",
    `schema: ${JSON.stringify(schema)} will not do. Use 1 to 40 of a-z, 0-9 and _, not "public" and not "pg_…".`,
  );
}

const texts = new Map<string, string>();

/** The statement with the schema's name in place; texts are few and constant, so they are kept. */
export function qualify(text: string, schema: string): string {
  if (schema === DEFAULT_SCHEMA) return text;
  const known = `${schema} ${text}`;
  const qualified = texts.get(known) ?? text.replaceAll(/\bfairmill\b/g, schema);
  texts.set(known, qualified);
  return qualified;
}
