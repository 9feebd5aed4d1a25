// Errors about values that are sealed, or should be.
import { FairmillError } from "../../base/errors.js";

/** A value is sealed and nothing here opens it: no codec is set, or a later version of this package sealed it. */
export class SealedError extends FairmillError {
  override readonly name = "SealedError";
  /** The key that it names, if it can be read. */
  readonly keyId: string | undefined;
  constructor(what: string, keyId: string | undefined, version?: number) {
    super(
      "FAIRMILL_SEALED",
      version === undefined
        ? `The ${what} is sealed${keyId === undefined ? "" : ` with key "${keyId}"`}, and no codec is set here. Set codec as it is where the job was enqueued.`
        : `The ${what} is sealed in form ${version}, which this version of the package does not know. Update it here.`,
    );
    this.keyId = keyId;
  }
}

/** A value is sealed with a key that the codec does not have. */
export class KeyUnknownError extends FairmillError {
  override readonly name = "KeyUnknownError";
  readonly keyId: string;
  constructor(what: string, keyId: string) {
    super(
      "FAIRMILL_KEY_UNKNOWN",
      `The ${what} is sealed with key "${keyId}", which the codec here does not have. Add it to keys: it is new, or it was removed too early.`,
    );
    this.keyId = keyId;
  }
}

/** A sealed value was changed, was taken from another job's place, or the key of this name is another one. */
export class SealBrokenError extends FairmillError {
  override readonly name = "SealBrokenError";
  readonly keyId: string | undefined;
  constructor(what: string, keyId: string | undefined) {
    super(
      "FAIRMILL_SEAL_BROKEN",
      `The ${what} cannot be opened${keyId === undefined ? "" : ` with key "${keyId}"`}: it was changed, it belongs to another kind or tenant, or the key of this name is not the one that sealed it.`,
    );
    this.keyId = keyId;
  }
}

/** A value is not sealed, and the codec was told to accept nothing else. */
export class NotSealedError extends FairmillError {
  override readonly name = "NotSealedError";
  constructor(what: string) {
    super(
      "FAIRMILL_NOT_SEALED",
      `The ${what} is not sealed, and the codec has acceptPlain: false. The process that stored it has no codec set.`,
    );
  }
}
