// The failure before anything was sent.
import { DatabaseError } from "../base/errors.js";

/** No connection could be had, so nothing was sent: repeating is safe. Its code says why there was none. */
export class NotSentError extends DatabaseError {}
