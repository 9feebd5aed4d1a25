// What was sent and not answered: a call that cannot be repeated safely must say so, because it is unknown whether it was stored.
import { DatabaseError } from "../../base/errors.js";
import { NotSentError } from "../../db/database.js";
import { isConnectionLoss } from "../../db/failures.js";

export const OUTCOME_UNKNOWN = "FAIRMILL_OUTCOME_UNKNOWN";

/** Runs what is not repeated. `what` may be stored or not when the connection breaks in the middle. */
export async function onceOnly<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NotSentError || !isConnectionLoss(error)) throw error;
    throw new DatabaseError(
      OUTCOME_UNKNOWN,
      `The connection broke before the database answered: the ${what} may be stored or not. Look before you do it again.`,
      { cause: error },
    );
  }
}
