// What the worker processes run: `fairmill work --config examples/fair-lanes/fairmill.config.mjs`.
import { setTimeout as sleep } from "node:timers/promises";
import { defineConfig, handle } from "fairmill";
import { drawPicture } from "./picture.mjs";

export default defineConfig({
  handlers: [
    handle(drawPicture, async (ctx) => {
      await sleep(15, undefined, { signal: ctx.signal });
      return { drawn: `picture ${ctx.input.number ?? "without a number"} of ${ctx.tenant}` };
    }),
  ],
  // Few places on purpose: tenants have to share them.
  concurrency: 2,
});
