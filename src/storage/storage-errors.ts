// What can go wrong with files: a key that is none, a file that is not there, a storage that refuses or does not answer.
import { FairmillError } from "../base/errors.js";

/** The key of a file is empty, too long, or could leave the storage's folder. */
export class StorageKeyError extends FairmillError {
  override readonly name = "StorageKeyError";
  constructor(key: string, why: string) {
    super(
      "FAIRMILL_STORAGE_KEY",
      `The storage key ${key} is not usable: ${why}. Write it like "stickers/42/happy.webp".`,
    );
  }
}

/** The storage refused a request, or could not be reached. `status` is its HTTP status, where it answered. */
export class StorageError extends FairmillError {
  override readonly name = "StorageError";
  readonly status: number | undefined;
  constructor(message: string, options?: { cause?: unknown; status?: number }) {
    super("FAIRMILL_STORAGE", message, options);
    this.status = options?.status;
  }
}

/** The file is larger than this storage keeps. */
export class FileTooLargeError extends FairmillError {
  override readonly name = "FileTooLargeError";
  constructor(key: string, bytes: number, bytesMax: number) {
    super(
      "FAIRMILL_FILE_TOO_LARGE",
      `The file "${key}" has ${bytes} bytes; this storage keeps at most ${bytesMax}. Raise fileBytesMax, or make the file smaller.`,
    );
  }
}
