// What the checks of SQL functions learn about triggers and about rows that are deleted along.
import { expect, test } from "vitest";

interface Trigger {
  readonly table: string;
  readonly verbs: readonly string[];
  readonly calls: string | undefined;
}

const { readTriggers, readCascades, firedBy, triggerFaults } = (await import(
  "../../scripts/sql-triggers.mjs" as string
)) as {
  readTriggers: (text: string) => Trigger[];
  readCascades: (text: string) => Map<string, string[]>;
  firedBy: (body: string, triggers: readonly Trigger[]) => string[];
  triggerFaults: (functions: ReadonlyMap<string, string>, triggers: readonly Trigger[]) => string[];
};
const { bodyFaults, readLockOrder } = (await import("../../scripts/lock-order.mjs" as string)) as {
  bodyFaults: (...given: unknown[]) => [name: string, fault: string][];
  readLockOrder: (page: string) => Map<number, string>;
};

const [trigger] = readTriggers(
  `-- create trigger not_this before update on fairmill.queue execute function fairmill.other();
   create or replace trigger noted after insert or update on fairmill.job for each row execute function fairmill.note();`,
) as [Trigger];

test("a trigger is read with its table, its verbs and its function; comments are not", () => {
  expect(trigger).toEqual({ table: "job", verbs: ["insert", "update"], calls: "note" });
});

test.each([
  ["insert into fairmill.job values (1)", ["note"]],
  ["update fairmill.job set state = 'ready'", ["note"]],
  ["delete from fairmill.job", []],
  ["insert into fairmill.job_history values (1); update fairmill.queue set rescan_no = 1", []],
  ["-- insert into fairmill.job values (1)\nselect 1", []],
])("a body calls the trigger functions of what it writes: %s", (body, calls) => {
  expect(firedBy(body, [trigger])).toEqual(calls);
});

test("a trigger function without a trigger is a fault, and a trigger without a trigger function", () => {
  const note = "create or replace function fairmill.note() returns trigger";
  expect(triggerFaults(new Map([["note", note]]), [trigger])).toEqual([]);
  expect(triggerFaults(new Map([["note", note]]), [])).toHaveLength(1);
  expect(triggerFaults(new Map([["note", "returns integer"]]), [trigger])).toHaveLength(1);
});

test("a body that deletes rows locks those that go with them", () => {
  const cascades = readCascades(
    [
      "create table fairmill.child (",
      "  supervisor text not null references fairmill.supervisor on delete cascade,",
      "  pool text references fairmill.pool",
      ");",
    ].join("\n"),
  );
  expect([...cascades]).toEqual([["supervisor", ["child"]]]);
  const order = readLockOrder("| 25 | `supervisor` | x |\n| 26 | `child` | x |");
  const faultsOf = (said: string) =>
    bodyFaults(
      new Map([["leave", "delete from fairmill.supervisor"]]),
      new Map([["leave", said]]),
      new Map([["leave", new Set()]]),
      order,
      cascades,
    );
  expect(faultsOf("25 supervisor")).toEqual([["leave", "its body locks rows of child: 26 child"]]);
  expect(faultsOf("25 supervisor, 26 child")).toEqual([]);
});
