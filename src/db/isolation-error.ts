// A transaction of the wrong isolation level.
import { FairmillError } from "../base/errors.js";

/** A call in a transaction that does not see what others commit. */
export class IsolationError extends FairmillError {
  override readonly name = "IsolationError";
  readonly retryable = false;
  constructor(cause: unknown, said: string) {
    super(
      "FAIRMILL_ISOLATION",
      `This needs a READ COMMITTED transaction, because in another one it would overlook what others have committed: ${said}. Begin the transaction as READ COMMITTED, or set default_transaction_isolation for the role.`,
      { cause },
    );
  }
}
