// What PostgreSQL does by itself when a function writes to a table: it runs triggers, and deletes along foreign keys. The text of the function does not
// show it, so the checks of calls and locks learn it from the statements that make triggers and tables.

const without = (text) => text.replaceAll(/--.*$/gm, "");

/** The triggers that this text makes: the table, the verbs that fire, and the function. */
export function readTriggers(text) {
  const made = without(text).matchAll(
    /\bcreate (?:or replace )?(?:constraint )?trigger\b[^;]*?\bon fairmill\.(\w+)[^;]*/g,
  );
  return [...made].map(([statement, table]) => ({
    table,
    verbs: Object.keys(WRITES).filter((verb) => new RegExp(`\\b${verb}\\b`).test(statement.split(" on fairmill.")[0])),
    calls: /\bexecute (?:function|procedure) fairmill\.(\w+)/.exec(statement)?.[1],
  }));
}

/** By table, the tables whose rows go with its rows. */
export function readCascades(text) {
  const cascades = new Map();
  for (const [, table, columns] of without(text).matchAll(/\bcreate table fairmill\.(\w+) \(([\s\S]*?)\n\)/g))
    for (const [, parent] of columns.matchAll(/\breferences fairmill\.(\w+)[^,]*?\bon delete (?:cascade|set)/g))
      cascades.set(parent, [...(cascades.get(parent) ?? []), table]);
  return cascades;
}

const WRITES = {
  insert: (table) => `insert into fairmill\\.${table}\\b`,
  update: (table) => `update fairmill\\.${table}\\b|insert into fairmill\\.${table}\\b[^;]*\\bdo update\\b`,
  delete: (table) => `delete from fairmill\\.${table}\\b`,
  truncate: (table) => `truncate (?:table )?fairmill\\.${table}\\b`,
};

/** The trigger functions that a body runs by writing to their tables. */
export function firedBy(body, triggers) {
  const text = without(body);
  return triggers
    .filter(({ table, verbs }) => verbs.some((verb) => new RegExp(`\\b(?:${WRITES[verb](table)})`).test(text)))
    .map(({ calls }) => calls);
}

/** Trigger functions that no trigger calls, and triggers that call something else. */
export function triggerFaults(functions, triggers) {
  const isOne = (name) => /\breturns trigger\b/.test(functions.get(name) ?? "");
  const called = new Set(triggers.map(({ calls }) => calls));
  return [
    ...[...functions.keys()]
      .filter((name) => isOne(name) && !called.has(name))
      .map((name) => `${name}: it returns a trigger, and no trigger calls it`),
    ...triggers
      .filter(({ calls }) => !isOne(calls))
      .map(({ table, calls }) => `a trigger of ${table} calls ${calls}, which is no trigger function of sql/`),
  ];
}
