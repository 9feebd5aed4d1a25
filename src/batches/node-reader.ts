// Reads what the nodes of a flow returned, for handlers of the nodes behind them; and for callbacks, of which batch they are. What is stored is read where
// the database is; it is opened, and fetched from a storage, in the process that runs the handler.

import type { ClientContext } from "../core/enqueue/client-context.js";
import type { Claim } from "../core/job/claim.js";
import { isStored } from "../core/job/content-reference.js";
import { openContent } from "../core/job/stored-content.js";
import type { Database } from "../db/database.js";
import { explaining } from "../db/explain-failure.js";
import type { BatchCall } from "./batch.js";
import { readCaller } from "./batch-statements.js";
import { type NodeReader, NodeResultError } from "./flow.js";
import { type NodeResult, readNodeResult, readNodeResults } from "./flow-statements.js";

const RESULTS_MAX = 10_000;
/** Results that are fetched from a storage at once. */
const AT_ONCE = 8;

/** Results as they are stored: sealed, or references to files. */
export interface NodeRows {
  result(claim: Claim, node: string): Promise<NodeResult>;
  results(claim: Claim, node: string): Promise<readonly NodeResult[]>;
  caller(claim: Claim): Promise<BatchCall | undefined>;
}

export class StoredNodeRows implements NodeRows {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async result(claim: Claim, node: string): Promise<NodeResult> {
    const found = await this.#read((db) => readNodeResult(db, claim.batch!, node));
    if (!found) throw new NodeResultError(node, "this job belongs to no flow that has such a node.");
    if (found.state === "waiting" || found.state === "pending")
      throw new NodeResultError(node, 'the node is not over. Name it in the "after" of the node that asks.');
    return found;
  }

  async results(claim: Claim, node: string): Promise<readonly NodeResult[]> {
    // Also says whether there is such a node, and whether it is over.
    await this.result(claim, node);
    return this.#read((db) => readNodeResults(db, claim.batch!, node, RESULTS_MAX));
  }

  caller(claim: Claim): Promise<BatchCall | undefined> {
    return this.#read((db) => readCaller(db, claim.id));
  }

  #read<T>(read: (db: Database) => Promise<T>): Promise<T> {
    return explaining(this.#db.schema, () => read(this.#db));
  }
}

export class FlowNodeReader implements NodeReader {
  readonly #rows: NodeRows;
  readonly #contents: Pick<ClientContext, "codec" | "contents">;

  constructor(rows: NodeRows, contents: Pick<ClientContext, "codec" | "contents">) {
    this.#rows = rows;
    this.#contents = contents;
  }

  async result(claim: Claim, node: string): Promise<unknown> {
    return this.#open(await this.#rows.result(claim, node));
  }

  async results(claim: Claim, node: string): Promise<unknown[]> {
    const rows = await this.#rows.results(claim, node);
    const opened: unknown[] = [];
    for (let from = 0; from < rows.length; from += AT_ONCE)
      opened.push(...(await Promise.all(rows.slice(from, from + AT_ONCE).map((row) => this.#open(row)))));
    return opened;
  }

  caller(claim: Claim): Promise<BatchCall | undefined> {
    return this.#rows.caller(claim);
  }

  async #open({ result, kind, tenant }: NodeResult): Promise<unknown> {
    if (result === null) return undefined;
    if (this.#contents.codec === undefined && !isStored(result)) return result;
    return openContent(this.#contents, result, { kind, tenant }, "result");
  }
}
