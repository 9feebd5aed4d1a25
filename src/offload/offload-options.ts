// The setting `offload` of clients, workers and configs, checked.
import { ConfigError } from "../base/errors.js";
import { PAYLOAD_BYTES_MAX } from "../base/json-content.js";
import { readable, refuseUnknown, wholeNumber } from "../base/settings.js";
import type { OffloadOptions } from "./content-storage.js";
import { FileContents } from "./file-contents.js";

const ABOVE = 256 * 1024;
const MAX = 64 * 1024 * 1024;
/** Smaller ones are better off in their rows. */
const ABOVE_MIN = 1_024;
const CALLS = ["put", "get", "delete", "list"] as const;

export function checkOffload(offload: unknown, where: string): FileContents | undefined {
  if (offload === undefined) return undefined;
  return readable("offload", where, () => {
    refuseUnknown(offload, ["storage", "above", "max"], `${where}: offload`);
    const { storage, above = ABOVE, max = MAX } = offload as OffloadOptions;
    const isStorage = typeof storage?.name === "string" && CALLS.every((call) => typeof storage[call] === "function");
    if (!isStorage)
      throw new ConfigError("offload", `${where}: offload: storage: pass what defineStorage(…) returned.`);
    wholeNumber(above, ABOVE_MIN, PAYLOAD_BYTES_MAX, "offload.above");
    return new FileContents({ storage, above, max: wholeNumber(max, above, 2 ** 29, "offload.max") });
  });
}
