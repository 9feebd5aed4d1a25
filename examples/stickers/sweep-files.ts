// Drafts and stickers are kept for a month. A file is found by its age alone, so a sweep needs no list of them; one that is interrupted begins again the next night.
// What it leaves is how much is stored: the figure `storage_size`, of which an alert warns.
import { type Client, type Handler, handle } from "fairmill";
import { sweepStorage } from "fairmill/storage";
import { sweepFiles } from "./jobs.js";
import type { Parts } from "./parts.js";

export const sweepHandler = ({ storage, client }: Parts): Handler =>
  handle(sweepFiles, async ({ signal }) => {
    const { removed, kept, keptBytes, isComplete } = await sweepStorage({
      storage,
      rules: [{ prefix: "", olderThan: "30d" }],
      signal,
    });
    if (isComplete) await client.metrics.record([{ name: "storage_size", label: storage.name, value: keptBytes }]);
    return { removed, kept, keptBytes };
  });

/** Declared at every start; the same again changes nothing. */
export const scheduleSweep = (client: Client): Promise<unknown> =>
  client.schedules.set("sweep of files", { cron: "30 4 * * *", timezone: "UTC", job: sweepFiles, input: {} });
