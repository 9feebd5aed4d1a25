// Sessions of PostgreSQL that stay open from one test to the next. The first call of a function in a session reads the catalog, compiles and plans: four tenths of what
// PostgreSQL did in a run. A client that ends leaves its session as a new one is, except for what the server has compiled and planned, and the next client of the same
// database and user goes on with it. Not kept are sessions that end inside a transaction, of processes and threads that a test starts, behind a proxy, or of another server.
import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import pg from "pg";
import { endAfterFile } from "./leftovers.js";

/** What the driver has inside, as far as it is used here. */
interface Connection extends EventEmitter {
  stream: Socket;
  parsedStatements: object;
  submittedNamedStatements: object;
  connect: (port: number, host: string) => void;
  startup: (settings: object) => void;
  end: () => void;
  query: (text: string) => void;
}
interface Client extends EventEmitter {
  connection: Connection;
  host: string;
  port: number;
  password: unknown;
  ssl: unknown;
  processID: number;
  secretKey: number;
  readyForQuery: boolean;
  _connecting: boolean;
  _connected: boolean;
  _ending: boolean;
  _queryable: boolean;
  _txStatus: string | null;
  _activeQuery: unknown;
  _queryQueue: unknown[];
  _sentQueryQueue: unknown[];
  getStartupConf(): Record<string, string>;
  _connect(callback: (error?: Error) => void): void;
  end(callback?: () => void): Promise<void> | undefined;
}

/** All that DISCARD ALL does, but the plans stay. Fails where the session began with settings of its database or its user: they may be others by now. */
const FORGET = `close all; set session authorization default; reset all; deallocate all; unlisten *;
  select pg_advisory_unlock_all(); discard temp; discard sequences;
  select 1 / (not exists (select from pg_settings where source in ('database', 'user', 'database user')))::int;
  set application_name = 'kept for the next test'`;

/** Fails where a new session might be refused, or would begin with other settings. */
const REMEMBER = `select 1 / (
    has_database_privilege(d.oid, 'connect') and datallowconn and datconnlimit = -1
    and rolcanlogin and rolconnlimit = -1 and rolvaliduntil is null
    and not exists (select from pg_db_role_setting where setdatabase in (0, d.oid) and setrole in (0, r.oid))
  )::int
  from pg_database as d, pg_roles as r where datname = current_database() and rolname = session_user`;

const KEPT_MAX = 16;

const keyOfConnection = new WeakMap<Connection, string>();
let kept: Connection[] = [];
let server: { host: string; port: number } | undefined;

/** From here on, sessions of this server are kept. */
export function keepSessions(serverUrl: string): void {
  const { hostname, port } = new URL(serverUrl);
  if (!server) {
    patch(pg.Client.prototype as unknown as Client);
    endAfterFile(endKeptSessions);
  }
  server = { host: hostname, port: Number(port) };
}

/** For what counts sessions, and for what is about a new one. */
export async function endKeptSessions(): Promise<void> {
  const all = kept;
  kept = [];
  await Promise.all(
    all.map(
      (connection) =>
        new Promise<void>((resolve) => {
          connection.once("end", resolve);
          connection.end();
        }),
    ),
  );
}

function patch(prototype: Client): void {
  const { _connect: connect, end } = prototype;
  prototype._connect = function (callback) {
    const key = keyOf(this);
    const found = key === undefined || this._connecting || this._connected ? undefined : take(key);
    if (found === undefined) {
      if (key !== undefined) keyOfConnection.set(this.connection, key);
      connect.call(this, callback);
      return;
    }
    this._connecting = true;
    const name = pg.escapeLiteral(this.getStartupConf()["application_name"] ?? "");
    void ask(found, `${REMEMBER}; set application_name = ${name}`).then((isFit) => {
      this._connecting = false;
      if (isFit) {
        adopt(this, found);
      } else {
        found.end();
        keyOfConnection.set(this.connection, key!);
      }
      connect.call(this, callback);
    });
  };
  prototype.end = function (callback) {
    const { connection } = this;
    if (isAsNew(this) && keyOfConnection.has(connection) && kept.length < KEPT_MAX) {
      const { processID, secretKey } = this;
      connection.end = () => void keep(connection, { processID, secretKey });
    }
    return end.call(this, callback);
  };
}

function keyOf(client: Client): string | undefined {
  const { host, port, password, ssl } = client;
  if (host !== server?.host || port !== server.port || ssl || typeof password !== "string") return undefined;
  const { application_name: _, ...settings } = client.getStartupConf();
  return JSON.stringify([password, settings]);
}

/** Nothing is under way and no transaction is open. */
const isAsNew = (client: Client) =>
  client._connected &&
  client._queryable &&
  !client._ending &&
  client._txStatus === "I" &&
  client.readyForQuery &&
  !client._activeQuery &&
  client._queryQueue.length === 0 &&
  client._sentQueryQueue.length === 0;

async function keep(connection: Connection, keyData: { processID: number; secretKey: number }): Promise<void> {
  for (const event of connection.eventNames()) if (event !== "end") connection.removeAllListeners(event);
  connection.on("error", () => {});
  delete (connection as Partial<Connection>).end;
  if (!(await ask(connection, FORGET))) {
    connection.end();
    return;
  }
  const listeners = connection.listeners("end");
  connection.removeAllListeners("end");
  connection.parsedStatements = {};
  connection.submittedNamedStatements = {};
  connection.connect = () => queueMicrotask(() => connection.emit("connect"));
  connection.startup = () => {
    connection.emit("backendKeyData", keyData);
    connection.emit("readyForQuery", { status: "I" });
  };
  connection.once("end", () => {
    kept = kept.filter((other) => other !== connection);
  });
  connection.stream.unref();
  kept.push(connection);
  for (const listener of listeners) listener.call(connection);
}

function take(key: string): Connection | undefined {
  const found = kept.findLast((connection) => keyOfConnection.get(connection) === key);
  if (found) kept = kept.filter((connection) => connection !== found);
  found?.stream.ref();
  return found;
}

function adopt(client: Client, connection: Connection): void {
  client.connection.stream.destroy();
  connection.removeAllListeners();
  client.connection = connection;
}

/** Whether the server did all of it. */
function ask(connection: Connection, text: string): Promise<boolean> {
  return new Promise((resolve) => {
    let isDone = true;
    const finish = (isThere: boolean) => {
      connection.off("readyForQuery", ready).off("errorMessage", failed).off("end", gone);
      resolve(isThere);
    };
    const ready = () => finish(isDone);
    const gone = () => finish(false);
    const failed = () => {
      isDone = false;
    };
    connection.on("readyForQuery", ready).on("errorMessage", failed).on("end", gone);
    connection.query(text);
  });
}
