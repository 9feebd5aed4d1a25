// The pack of the night: a schedule starts a flow, which draws one creature in all its moods side by side, and whose last node sends one message with all
// of them. A tick and its flow are one transaction, so that no crash makes two packs of one night.
import { type Client, defineFlow, type FlowDefinition, type Handler, handle, handleFlow } from "fairmill";
import { drawSticker, fileOf } from "./draw-sticker.js";
import { drawPackSticker } from "./jobs.js";
import type { Parts } from "./parts.js";
import { makeSheet } from "./sticker-sheet.js";

export const PACK_SCHEDULE = "nightly pack";
const FLOW = "pack";
/** The kind of the job that sends a pack: the flow's name and its node's. */
export const sendPack = `${FLOW}/send`;
/** A tenant of their own, with a lane and a budget of its own: packs never delay a community. */
const PACKS = "packs";
const CREATURES = ["cat", "bear", "bunny", "fox", "frog", "ghost"] as const;

interface Pack {
  readonly chat: number;
}

const packFlow = ({ catalogue, storage, telegram }: Parts): FlowDefinition<Pack> =>
  defineFlow<Pack>({ name: FLOW }, (flow) => {
    const draw = flow.run(
      "draw",
      async (ctx) => {
        const pack = `pack-${ctx.batch!.id}`;
        const creature = CREATURES[Number(ctx.batch!.id) % CREATURES.length]!;
        // Stored with the end of this job: a worker that dies here adds nothing twice.
        for (const mood of await catalogue.emotions()) await ctx.batch!.add(drawPackSticker, { pack, creature, mood });
        return { pack };
      },
      { queue: "packs" },
    );
    flow.run(
      "send",
      async (ctx) => {
        const { pack } = (await ctx.flow!.result(draw))!;
        const drawn = (await ctx.flow!.results(draw)) as readonly { key?: string }[];
        const stickers = await Promise.all(drawn.flatMap(({ key }) => key ?? []).map((key) => fileOf(storage, key)));
        const sticker = `packs/${pack}/all.webp`;
        await storage.put(sticker, await makeSheet(stickers));
        await ctx.publish(telegram, { chat: ctx.input.chat, sticker }, { idempotencyKey: pack });
        return { stickers: stickers.length, sheet: sticker };
      },
      { after: [draw], queue: "packs" },
    );
  });

export const packHandlers = (parts: Parts): Handler[] => [
  ...handleFlow(packFlow(parts)),
  handle(drawPackSticker, async (ctx) => {
    const { pack, creature, mood } = ctx.input;
    return drawSticker(parts, ctx, { folder: `packs/${pack}`, words: `a ${mood} ${creature}, ${pack}` });
  }),
];

/** What packs may cost in a day: from `soft` on the cheaper model draws first, and at `hard` no further picture is begun until the next day. */
export const limitPacks = (client: Client): Promise<void> =>
  client.budgets.set({ tenant: PACKS, per: "day", soft: 3, hard: 5 });

/** Declared at every start; the same again changes nothing. */
export const schedulePacks = (parts: Parts): Promise<unknown> =>
  parts.client.schedules.set(PACK_SCHEDULE, {
    cron: "0 3 * * *",
    timezone: "UTC",
    flow: packFlow(parts),
    input: { chat: parts.settings.packChat },
    tenant: PACKS,
  });
