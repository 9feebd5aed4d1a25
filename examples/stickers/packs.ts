// The pack of the night: a schedule enqueues a job, the job starts a flow, the flow draws one creature in all its moods side by side, and its
// last node sends one message with all of them.
import { type Client, defineFlow, type FlowDefinition, type Handler, handle, handleFlow } from "fairmill";
import { drawSticker, fileOf } from "./draw-sticker.js";
import { drawPackSticker, startPack } from "./jobs.js";
import { MOODS } from "./moods.js";
import type { Parts } from "./parts.js";
import { makeSheet } from "./sticker-sheet.js";

export const PACK_SCHEDULE = "nightly pack";
const CREATURES = ["cat", "bear", "bunny", "fox", "frog", "ghost"] as const;
const DAY_MS = 86_400_000;

interface Pack {
  readonly pack: string;
  readonly creature: string;
  readonly chat: number;
}

const packFlow = ({ storage, telegram }: Parts): FlowDefinition<Pack> =>
  defineFlow<Pack>({ name: "pack" }, (flow) => {
    const draw = flow.jobs("draw", drawPackSticker, ({ pack, creature }) =>
      MOODS.map((mood) => ({ pack, creature, mood })),
    );
    flow.run(
      "send",
      async (ctx) => {
        const { pack, chat } = ctx.input;
        const drawn = (await ctx.flow!.results(draw)) as readonly { key: string }[];
        const stickers = await Promise.all(drawn.map(({ key }) => fileOf(storage, key)));
        const sticker = `packs/${pack}/all.webp`;
        await storage.put(sticker, await makeSheet(stickers));
        await ctx.publish(telegram, { chat, sticker }, { idempotencyKey: `pack-${pack}` });
        return { stickers: stickers.length, sheet: sticker };
      },
      { after: [draw], queue: "packs" },
    );
  });

export function packHandlers(parts: Parts): Handler[] {
  const flow = packFlow(parts);
  return [
    ...handleFlow(flow),
    handle(drawPackSticker, async (ctx) => {
      const { pack, creature, mood } = ctx.input;
      return drawSticker(parts, ctx, { folder: `packs/${pack}`, words: `a ${mood} ${creature}, pack ${pack}` });
    }),
    handle(startPack, async (ctx) => {
      const tick = await ctx.tick();
      const night = tick ? tick.at.toISOString().slice(0, 10) : `by-hand-${ctx.id}`;
      const creature = CREATURES[(tick ? Math.floor(tick.at.getTime() / DAY_MS) : Number(ctx.id)) % CREATURES.length]!;
      // The flow begins with the end of this job, in one transaction: a worker that dies here starts no second pack.
      const tx = await parts.db.connect();
      try {
        await tx.query("begin");
        const { id } = await parts.client
          .in(tx)
          .flows.start(flow, { pack: `${night}-${creature}`, creature, chat: ctx.input.chat }, { tenant: ctx.tenant });
        const completed = await ctx.complete(tx, { flow: id });
        await tx.query("commit");
        tx.release();
        return completed;
      } catch (error) {
        // Closed rather than returned: whatever was under way is rolled back by the server.
        tx.release(true);
        throw error;
      }
    }),
  ];
}

/** Declared at every start; the same again changes nothing. */
export const schedulePacks = (client: Client, chat: number): Promise<unknown> =>
  client.schedules.set(PACK_SCHEDULE, {
    cron: "0 3 * * *",
    timezone: "UTC",
    job: startPack,
    input: { chat },
    tenant: "packs",
  });
