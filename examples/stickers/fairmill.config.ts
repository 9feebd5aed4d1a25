// What the supervisor and its children run: `fairmill supervise --config examples/stickers/fairmill.config.ts`, with the settings of `.env.example`.
import { defineConfig } from "fairmill";
import { apologyHandler, stickerHandler } from "./make-sticker.js";
import { packHandlers } from "./packs.js";
import { createParts } from "./parts.js";
import { refundHandler } from "./refunds.js";
import { readSettings } from "./settings.js";
import { sweepHandler } from "./sweep-files.js";

const parts = createParts(readSettings());

export default defineConfig({
  handlers: [
    stickerHandler(parts),
    apologyHandler(parts),
    refundHandler(parts),
    ...packHandlers(parts),
    sweepHandler(parts),
  ],
  channels: [parts.telegram],
  queues: { stickers: { concurrency: 6 }, packs: { concurrency: 2 }, outbox: { concurrency: 10 } },
  // Two processes at least. One more when people would wait for longer than five seconds to be drawn for.
  worker: { minInstances: 2, maxInstances: 3, policy: "targetWait", targetWait: "5s", healthCheckInterval: "1s" },
  // Short, so that one sees the stickers of a killed supervisor go on. Fifteen seconds are usual.
  lease: "5s",
});
