// Settings of a storage for large contents that cannot be meant: each is refused by its name.
import { createClient } from "fairmill";
import { defineStorage, folderStorage } from "fairmill/storage";
import { expect, test } from "vitest";

/** Nothing is put there, and no server is asked. */
const storage = defineStorage({ name: "contents", driver: folderStorage({ path: "never-made" }) });
const NO_SERVER = "postgres://localhost:1/none";

test.each([
  [{ storage: {} }, "offload"],
  [{ storage: "s3" }, "offload"],
  [{}, "offload"],
  [{ above: 1 }, "offload.above"],
  [{ above: 2 ** 21 }, "offload.above"],
  [{ above: 4_096, max: 10 }, "offload.max"],
  [{ abve: 4_096 }, "abve"],
])("a setting that cannot work is refused by name: %j", (given, setting) => {
  const options = { ...("storage" in given || Object.keys(given).length === 0 ? {} : { storage }), ...given };
  expect(() => createClient({ databaseUrl: NO_SERVER, offload: options as never })).toThrow(
    expect.objectContaining({ code: "FAIRMILL_CONFIG", setting }),
  );
});
