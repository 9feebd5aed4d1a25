// Why a content that is too large for its row could not be stored, or cannot be had.
import { FairmillError } from "../../base/errors.js";

/** The storage failed, or does not have what was put there. */
export class ContentStorageError extends FairmillError {
  override readonly name = "ContentStorageError";
  readonly storage: string;
  constructor(storage: string, message: string, options?: { cause?: unknown }) {
    super("FAIRMILL_CONTENT_STORAGE", message, options);
    this.storage = storage;
  }
}

/** A payload or a result lies in a storage that this process does not have. */
export class ContentElsewhereError extends FairmillError {
  override readonly name = "ContentElsewhereError";
  readonly storage: string;
  constructor(what: string, storage: unknown) {
    const name = typeof storage === "string" ? storage.slice(0, 200) : "?";
    super(
      "FAIRMILL_CONTENT_ELSEWHERE",
      `The ${what} lies in storage "${name}", which this process does not have. Set offload: { storage } to it.`,
    );
    this.storage = name;
  }
}
