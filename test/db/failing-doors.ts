// A database that fails with any SQL state, and what becomes of every call to it.
import { type Client, FairmillError } from "fairmill";
import pg from "pg";
import { knock, ON_CLIENT } from "../support/doors.js";

/** In place of every function, and in front of every table: raises the SQL state that the setting test.state names. */
export const STAND_IN = `
  create function fairmill.fail() returns boolean stable language plpgsql as $$
  begin
    if current_setting('test.state', true) is null then return true; end if;
    raise exception 'stands in' using errcode = current_setting('test.state');
  end $$;
  do $$
  declare it record;
  begin
    for it in select proname, pg_get_function_arguments(oid) as arguments, pg_get_function_result(oid) as result from pg_proc
      where pronamespace = 'fairmill'::regnamespace and proname like '%\\_v_' loop
      execute format('create or replace function fairmill.%I(%s) returns %s language plpgsql as %L',
        it.proname, it.arguments, it.result, 'begin perform fairmill.fail(); end');
    end loop;
    for it in select relname from pg_class where relnamespace = 'fairmill'::regnamespace and relkind in ('r', 'p') and not relispartition loop
      execute format('alter table fairmill.%1$I rename to %2$I', it.relname, it.relname || '_behind');
      execute format('create view fairmill.%1$I as select * from fairmill.%2$I where fairmill.fail()', it.relname, it.relname || '_behind');
    end loop;
  end $$`;

export const ask = async (url: string, ...statements: string[]) => {
  const connection = new pg.Client(url);
  await connection.connect();
  try {
    for (const statement of statements) await connection.query(statement);
  } finally {
    await connection.end();
  }
};

/** The address with settings of its sessions. */
export function withSettings(url: string, settings: Record<string, string>): string {
  const changed = new URL(url);
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  changed.searchParams.set("options", options.join(" "));
  return changed.href;
}

export function as(url: string, user: string, password: string): string {
  const changed = new URL(url);
  changed.username = user;
  changed.password = password;
  return changed.href;
}

export interface Failed {
  readonly door: string;
  readonly error: unknown;
}

/** Calls everything, and returns what failed. A call that throws instead of rejecting is told as such. */
export async function knockEverywhere(client: Client): Promise<Failed[]> {
  const doors = [...Object.entries(ON_CLIENT).map(([name, args]) => [name, () => knock(client, name, args)] as const)];
  return failuresOf(doors);
}

export async function failuresOf(doors: readonly (readonly [string, () => unknown])[]): Promise<Failed[]> {
  const failed: Failed[] = [];
  await Promise.all(
    doors.map(async ([door, call]) => {
      let called: unknown;
      try {
        called = call();
      } catch (error) {
        failed.push({ door, error: `threw before it returned a promise: ${error}` });
      }
      await Promise.resolve(called).catch((error: unknown) => void failed.push({ door, error }));
    }),
  );
  return failed;
}

/** What became of calls that is no error of ours. */
export const foreign = (failed: readonly Failed[]) =>
  failed
    .filter(({ error }) => !(error instanceof FairmillError) || !/^FAIRMILL_[A-Z_]+$/.test(error.code))
    .map(({ door, error }) => `${door}: ${error}`);

export const codesOf = (failed: readonly Failed[]) => [
  ...new Set(failed.map(({ error }) => (error as FairmillError).code)),
];

/** Codes that say that the call itself was answered. */
export const ANSWERS = [
  "FAIRMILL_JOB_NOT_FOUND",
  "FAIRMILL_REFUND",
  "FAIRMILL_BATCH_NOT_FOUND",
  "FAIRMILL_BATCH_ENDED",
  "FAIRMILL_SCHEDULE_NOT_FOUND",
  "FAIRMILL_MESSAGE_NOT_FOUND",
  "FAIRMILL_ALERT_NOT_FOUND",
];
