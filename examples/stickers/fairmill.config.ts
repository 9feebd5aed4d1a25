// What a worker process runs: `fairmill work --config examples/stickers/fairmill.config.ts`, with the settings of `.env.example`.
import { defineConfig } from "fairmill";
import { apologyHandler, stickerHandler } from "./make-sticker.js";
import { packHandlers } from "./packs.js";
import { createParts } from "./parts.js";
import { refundHandler } from "./refunds.js";
import { readSettings } from "./settings.js";

const parts = createParts(readSettings());

export default defineConfig({
  handlers: [stickerHandler(parts), apologyHandler(parts), ...packHandlers(parts), refundHandler(parts)],
  channels: [parts.telegram],
  queues: { stickers: { concurrency: 6 }, packs: { concurrency: 2 }, outbox: { concurrency: 10 } },
  // Short, so that one sees a killed worker's stickers go on. Fifteen seconds are usual.
  lease: "5s",
});
