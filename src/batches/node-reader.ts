// Reads what the nodes of a flow returned, for handlers of the nodes behind them; and for callbacks, of which batch they are.

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

export class FlowNodeReader implements NodeReader {
  readonly #db: Database;
  readonly #contents: Pick<ClientContext, "codec" | "contents">;

  constructor(db: Database, contents: Pick<ClientContext, "codec" | "contents">) {
    this.#db = db;
    this.#contents = contents;
  }

  async result(claim: Claim, node: string): Promise<unknown> {
    const found = await this.#read((db) => readNodeResult(db, claim.batch!, node));
    if (!found) throw new NodeResultError(node, "this job belongs to no flow that has such a node.");
    if (found.state === "waiting" || found.state === "pending")
      throw new NodeResultError(node, 'the node is not over. Name it in the "after" of the node that asks.');
    return this.#open(found);
  }

  async results(claim: Claim, node: string): Promise<unknown[]> {
    // Also says whether there is such a node, and whether it is over.
    await this.result(claim, node);
    const found = await this.#read((db) => readNodeResults(db, claim.batch!, node, RESULTS_MAX));
    const opened: unknown[] = [];
    for (const one of found) opened.push(await this.#open(one));
    return opened;
  }

  caller(claim: Claim): Promise<BatchCall | undefined> {
    return this.#read((db) => readCaller(db, claim.id));
  }

  #read<T>(read: (db: Database) => Promise<T>): Promise<T> {
    return explaining(this.#db.schema, () => read(this.#db));
  }

  async #open({ result, kind, tenant }: NodeResult): Promise<unknown> {
    if (result === null) return undefined;
    if (this.#contents.codec === undefined && !isStored(result)) return result;
    return openContent(this.#contents, result, { kind, tenant }, "result");
  }
}
