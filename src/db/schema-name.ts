// The schema that everything lives in. In SQL files and statements the word `fairmill` means it; here the configured name replaces it.

import { ConfigError } from "../base/errors.js";
import { showValue } from "../base/show-value.js";

export const DEFAULT_SCHEMA = "fairmill";

/** The name is put into statements as it is, without quotes: a word that means something else in SQL there cannot be a name. */
const RESERVED = new Set(
  `all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation column
  concurrently constraint create cross current_catalog current_date current_role current_schema current_time current_timestamp
  current_user default deferrable desc distinct do else end except false fetch for foreign freeze from full grant group having ilike in
  information_schema initially inner intersect into is isnull join lateral leading left like limit localtime localtimestamp natural not
  notnull null offset on only or order outer overlaps placing primary public references returning right select session_user similar some
  symmetric system_user table tablesample then to trailing true union unique user using variadic verbose when where window with
  between bigint bit boolean char character coalesce dec decimal exists extract float greatest grouping inout int integer interval json
  json_array json_arrayagg json_exists json_object json_objectagg json_query json_scalar json_serialize json_table json_value least
  merge_action national nchar none normalize nullif numeric out overlay position precision real row setof smallint substring time
  timestamp treat trim values varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot
  xmlserialize xmltable`.split(/\s+/),
);

export function checkSchemaName(schema: string): string {
  if (
    typeof schema === "string" &&
    /^[a-z_][a-z0-9_]{0,39}$/.test(schema) &&
    !schema.startsWith("pg_") &&
    !RESERVED.has(schema)
  )
    return schema;
  throw new ConfigError(
    "schema",
    `schema: ${showValue(schema)} will not do. Use 1 to 40 of a-z, 0-9 and _, not "public", not "pg_…", and no word that SQL reserves.`,
  );
}

const texts = new Map<string, string>();

/** The word as the name of the schema. As the beginning of a kind of job (`'fairmill.deliver.'`, `'fairmill.%'`, `"fairmill."`) it is the same in every schema. */
const SCHEMA_WORD = /\bfairmill\b(?!\.(?:deliver\.|%'|"))/g;

/** The statement with the schema's name in place; texts are few and constant, so they are kept. */
export function qualify(text: string, schema: string): string {
  if (schema === DEFAULT_SCHEMA) return text;
  const known = `${schema} ${text}`;
  const qualified = texts.get(known) ?? text.replaceAll(SCHEMA_WORD, schema);
  texts.set(known, qualified);
  return qualified;
}
