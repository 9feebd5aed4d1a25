// Reads what the nodes of a flow returned, for handlers of the nodes behind them; and for callbacks, of which batch they are.

import type { Claim } from "../core/job/claim.js";
import { type Codec, openJson } from "../core/job/codec.js";
import type { Database } from "../db/database.js";
import { explaining } from "../db/explain-failure.js";
import type { BatchCall } from "./batch.js";
import { readCaller } from "./batch-statements.js";
import { type NodeReader, NodeResultError } from "./flow.js";
import { type NodeResult, readNodeResult, readNodeResults } from "./flow-statements.js";

const RESULTS_MAX = 10_000;

export class FlowNodeReader implements NodeReader {
  readonly #db: Database;
  readonly #codec: Codec | undefined;

  constructor(db: Database, codec: Codec | undefined) {
    this.#db = db;
    this.#codec = codec;
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
    return found.map((one) => this.#open(one));
  }

  caller(claim: Claim): Promise<BatchCall | undefined> {
    return this.#read((db) => readCaller(db, claim.id));
  }

  #read<T>(read: (db: Database) => Promise<T>): Promise<T> {
    return explaining(this.#db.schema, () => read(this.#db));
  }

  #open({ result, kind, tenant }: NodeResult): unknown {
    if (result === null) return undefined;
    return this.#codec === undefined ? result : openJson(this.#codec, result, { kind, tenant }, "result");
  }
}
