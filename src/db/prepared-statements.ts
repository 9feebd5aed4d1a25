// Statements that are sent again and again are parsed and planned once for each connection, and kept there under a name
// (docs/decisions/0046). Only where the connection leads to one process of the server for as long as it lives, only outside of transactions, where a
// failure of the name costs a repetition and nothing else, and only statements that were marked: what is planned without its values must not need them.
import { createHash } from "node:crypto";
import { sqlStateOf } from "./failures.js";

/** Marks a statement as one to keep: it calls functions, which have plans of their own, so its plan is the same for all values. Returns the text. */
export function prepared(text: string): string {
  marked.add(text);
  return text;
}

const marked = new Set<string>();

/** Names on one connection, whatever the number of schemas and clients that share it: each takes memory of the server. */
export const NAMES_MAX = 64;

/** Names that were sent over a connection. Of all databases: several may share a pool of the caller's. */
const sent = new WeakMap<object, Set<string>>();

/** The statement is not there (26000), or another one is in its place (42P05): what was prepared reaches another process, or was discarded. */
const FORGOTTEN = new Set(["26000", "42P05"]);
/** A function that the statement names has changed its arguments since it was prepared, or is gone. */
const OUTDATED = new Set(["42883", "42725", "42804", "42703"]);

/** A name, and whether the connection has heard it before. */
export interface StatementName {
  readonly name: string;
  readonly isNew: boolean;
}

export class PreparedStatements {
  /** Connections that lead to one process of the server. */
  readonly #direct = new WeakSet<object>();
  readonly #names = new Map<string, string>();
  #isOver = false;

  /** A connection was opened; `process` is the one of the server that answered. A pooler names one of its own making, because it does not know yet which one will answer. */
  learn(line: object, process: string): void {
    const { processID: named } = line as { processID?: number | null };
    if (String(named) === process) this.#direct.add(line);
  }

  /** The name to send it under; undefined: none. `text` is the statement as it was marked, `qualified` as it is sent. */
  nameOf(line: object, text: string, qualified: string): StatementName | undefined {
    if (this.#isOver || !marked.has(text) || !this.#direct.has(line)) return undefined;
    const name = this.#names.get(qualified) ?? this.#newName(qualified);
    const names = sent.get(line);
    if (names === undefined) sent.set(line, new Set([name]));
    else if (names.has(name)) return { name, isNew: false };
    else if (names.size >= NAMES_MAX) return undefined;
    else names.add(name);
    return { name, isNew: true };
  }

  /** Made of the text: wherever the name is known, it means this statement. */
  #newName(qualified: string): string {
    const name = `fairmill_${createHash("sha256").update(qualified).digest("base64url").slice(0, 24)}`;
    this.#names.set(qualified, name);
    return name;
  }

  /**
   * Whether the failure is the name's, and the statement is to be sent again without it. Nothing was done then, or it was rolled back: the statement was a
   * transaction of its own. "forgotten": no statement of this database is sent under a name from here on. "outdated": this connection should be closed.
   */
  judge(error: unknown, { isNew }: StatementName): "forgotten" | "outdated" | undefined {
    const state = sqlStateOf(error);
    if (state === undefined) return undefined;
    if (FORGOTTEN.has(state)) {
      this.#isOver = true;
      return "forgotten";
    }
    // The answer has other columns than when it was prepared. The state says little and the message is in any language; the routine is the server's own.
    const isOtherAnswer = state === "0A000" && (error as { routine?: unknown }).routine === "RevalidateCachedQuery";
    return isOtherAnswer || (!isNew && OUTDATED.has(state)) ? "outdated" : undefined;
  }
}
