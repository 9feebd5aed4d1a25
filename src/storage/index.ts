// What `fairmill/storage` offers.
export { createFileHandler, type FileHandlerOptions } from "./file-handler.js";
export { type FolderOptions, folderStorage } from "./folder-storage.js";
export { type S3Options, s3Storage } from "./s3-storage.js";
export {
  defineStorage,
  type FileInfo,
  type ListOptions,
  type OpenedFile,
  type PutOptions,
  Storage,
  type StorageDriver,
  type StorageOptions,
  type StoredFile,
} from "./storage.js";
export { FileTooLargeError, StorageError, StorageKeyError } from "./storage-errors.js";
export { type Sweep, type SweepOptions, type SweepProgress, type SweepRule, sweepStorage } from "./sweep.js";
