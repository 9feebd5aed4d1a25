// The schema as text, read from the catalog of a migrated database: types, tables with their columns and constraints, indexes, views,
// triggers. The same on every major version of PostgreSQL, so that it can be compared with the file sql/schema.sql.

const COLUMNS_MAX = 120;

const RELATIONS = `select c.oid, c.relname::text as name, c.relkind::text as kind, c.reloptions as options,
  pg_get_partkeydef(c.oid) as partitioned,
  (select p.relname::text from pg_inherits i join pg_class p on p.oid = i.inhparent where i.inhrelid = c.oid) as parent
from pg_class c
where c.relnamespace = 'fairmill'::regnamespace and c.relkind in ('r', 'p', 'v')
  and (not c.relispartition or pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT')
order by c.relname collate "C"`;

const COLUMNS = `select a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as "isRequired",
  a.attidentity <> '' as "isIdentity", l.collname::text as collation, pg_get_expr(d.adbin, d.adrelid) as default,
  case when a.attstorage <> t.typstorage then a.attstorage::text end as storage
from pg_attribute a join pg_type t on t.oid = a.atttypid
left join pg_collation l on l.oid = a.attcollation and l.collname <> 'default'
left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped order by a.attnum`;

// Not null is said with the column; from PostgreSQL 18 on it is a constraint as well.
const CONSTRAINTS = `select o.conname::text as name, pg_get_constraintdef(o.oid) as definition from pg_constraint o
where o.conrelid = $1 and o.contype in ('c', 'p', 'u', 'f', 'x') and o.coninhcount = 0
order by array_position('{p,u,f,x,c}', o.contype), o.conname collate "C"`;

// Those of constraints are said there, and those of a partition by its parent.
const INDEXES = `select c.relname::text as name, pg_get_indexdef(c.oid) as definition, c.reloptions as options,
  exists (select from pg_constraint o where o.conindid = c.oid) as "isOfConstraint"
from pg_index i join pg_class c on c.oid = i.indexrelid
where i.indrelid = $1 and not exists (select from pg_inherits h where h.inhrelid = c.oid) order by c.relname collate "C"`;

const TRIGGERS = `select pg_get_triggerdef(t.oid) as definition from pg_trigger t
where t.tgrelid = $1 and not t.tgisinternal order by t.tgname collate "C"`;

const DOMAINS = `select t.typname::text as name, format_type(t.typbasetype, t.typtypmod) as type, l.collname::text as collation,
  (select string_agg(pg_get_constraintdef(o.oid), ' ' order by o.conname collate "C") from pg_constraint o
   where o.contypid = t.oid and o.contype = 'c') as checks
from pg_type t left join pg_collation l on l.oid = t.typcollation and l.collname <> 'default'
where t.typnamespace = 'fairmill'::regnamespace and t.typtype = 'd' order by t.typname collate "C"`;

const COMPOSITES = `select c.oid, c.relname::text as name from pg_class c
where c.relnamespace = 'fairmill'::regnamespace and c.relkind = 'c' order by c.relname collate "C"`;

const STORAGES = { p: "plain", e: "external", m: "main", x: "extended" };

/** @param {{ query: (text: string, values?: unknown[]) => Promise<{ rows: any[] }> }} client */
export async function schemaText(client) {
  await client.query("begin; set local search_path = pg_catalog, pg_temp");
  const ask = async (text, values) => (await client.query(text, values)).rows;
  const parts = [
    "-- The schema as the migrations leave it. Made by `npm run schema` from the catalog; a test compares it. Not to be\n" +
      "-- edited: the reasons stand in sql/migrations, the functions in sql/api and sql/inner.\n",
  ];
  for (const { name, type, collation, checks } of await ask(DOMAINS))
    parts.push(statement(`create domain fairmill.${name} as ${words(type, collate(collation), checks)}`));
  for (const { oid, name } of await ask(COMPOSITES)) {
    const fields = (await ask(COLUMNS, [oid])).map((each) => `  ${each.name} ${each.type}`);
    parts.push(`create type fairmill.${name} as (\n${fields.join(",\n")}\n);\n`);
  }
  const relations = await ask(RELATIONS);
  for (const table of relations.filter(({ kind }) => kind !== "v")) parts.push(await tableText(ask, table));
  for (const view of relations.filter(({ kind }) => kind === "v")) parts.push(await viewText(ask, view));
  await client.query("rollback");
  return parts.join("\n");
}

async function tableText(ask, { oid, name, options, partitioned, parent }) {
  const columns = await ask(COLUMNS, [oid]);
  const indexes = await ask(INDEXES, [oid]);
  const optionsOf = new Map(indexes.map((index) => [index.name, index.options]));
  const constraints = (await ask(CONSTRAINTS, [oid])).map((each) =>
    wrap(`  constraint ${words(each.name, each.definition, storageOptions(optionsOf.get(each.name)))}`),
  );
  const head = parent
    ? `create table fairmill.${name} partition of fairmill.${parent} default`
    : words(
        `create table fairmill.${name} (\n${[...columns.map(columnText), ...constraints].join(",\n")}\n)`,
        partitioned && `partition by ${partitioned}`,
        options && `with (\n  ${options.toSorted().map(spaced).join(",\n  ")}\n)`,
      );
  const lines = [`${head};`];
  for (const column of columns.filter(({ storage }) => storage && !parent))
    lines.push(
      statement(`alter table fairmill.${name} alter column ${column.name} set storage ${STORAGES[column.storage]}`),
    );
  for (const { definition, isOfConstraint } of indexes) if (!isOfConstraint) lines.push(statement(definition));
  for (const { definition } of await ask(TRIGGERS, [oid])) lines.push(statement(definition));
  return `${lines.map((line) => line.trimEnd()).join("\n")}\n`;
}

const columnText = ({ name, type, collation, isRequired, isIdentity, default: value }) =>
  wrap(
    `  ${words(name, type, collate(collation), isRequired && "not null", isIdentity && "generated always as identity", value && `default ${value}`)}`,
  );

/** Its columns as a comment, then its query, a line a clause. */
async function viewText(ask, { oid, name }) {
  const columns = (await ask(COLUMNS, [oid])).map((each) => `--   ${each.name} ${each.type}`);
  const [{ definition }] = await ask("select pg_get_viewdef($1::oid) as definition", [oid]);
  const query = definition
    .trim()
    .replaceAll(/\s+/g, " ")
    .split(/ (?=(?:FROM|WHERE|LEFT JOIN|UNION ALL|SELECT) )/);
  return `${columns.join("\n")}\n${[`create view fairmill.${name} as`, ...query].map(wrap).join("\n")}\n`;
}

const collate = (collation) => collation && `collate "${collation}"`;
const spaced = (option) => option.replace("=", " = ");
const storageOptions = (options) => options && `with (${options.toSorted().map(spaced).join(", ")})`;
const words = (...each) => each.filter(Boolean).join(" ");
const statement = (text) => `${wrap(`${text};`)}\n`;

/** One line, broken between words where it is too long; what stands in quotes is never broken. */
function wrap(text) {
  const indent = /^ */.exec(text)[0];
  const pieces = text.trim().match(/(?:'[^']*'|"[^"]*"|\S)+/g);
  const lines = [];
  let line = indent;
  for (const piece of pieces ?? []) {
    const isFirst = line.trim() === "";
    if (!isFirst && line.length + 1 + piece.length > COLUMNS_MAX) {
      lines.push(line);
      line = `${indent}  ${piece}`;
    } else line += isFirst ? piece : ` ${piece}`;
  }
  return [...lines, line].join("\n");
}
