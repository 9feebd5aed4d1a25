// What the bot does with an update. Everything that must not be lost is stored before the update is answered: jobs, grants, messages.
import { Bot, type Context } from "grammy";
import { type Desk, requestSticker } from "./request-sticker.js";
import type { Settings } from "./settings.js";

const WELCOME_CREDITS = 3;
const PURCHASE_CREDITS = 10;

export function createBot(desk: Desk, { token, apiRoot }: Settings["telegram"]): Bot {
  const bot = new Bot(token, { client: { apiRoot } });
  const { client, people, telegram } = desk;
  const tell = async (ctx: Context, text: string): Promise<void> => {
    const { community: tenant } = await people.get(userOf(ctx));
    const message = { chat: ctx.chat!.id, text };
    await client.publish(telegram, message, { tenant, idempotencyKey: `answer-${ctx.update.update_id}` });
  };

  bot.command("start", async (ctx) => {
    const user = userOf(ctx);
    await people.join(user, ctx.match);
    await client.credits.grant(user, WELCOME_CREDITS, { idempotencyKey: `welcome-${user}`, reason: "welcome" });
    await tell(ctx, `Send me words, like: a happy cat. You have ${WELCOME_CREDITS} stickers to begin with.`);
  });
  bot.command("balance", async (ctx) => {
    const { available, reserved } = await client.credits.balance(userOf(ctx));
    await tell(ctx, `You have ${available} stickers left${reserved > 0 ? `, and ${reserved} on the way` : ""}.`);
  });
  bot.on("message:successful_payment", async (ctx) => {
    const user = userOf(ctx);
    const { telegram_payment_charge_id: charge } = ctx.message.successful_payment;
    await client.credits.grant(user, PURCHASE_CREDITS, { idempotencyKey: `payment-${charge}`, reason: "bought" });
    await people.markPaying(user);
    await tell(ctx, `Thank you: ${PURCHASE_CREDITS} more stickers, and yours are drawn first from now on.`);
  });
  bot.on("message:text", (ctx) =>
    requestSticker(desk, {
      update: ctx.update.update_id,
      user: userOf(ctx),
      chat: ctx.chat.id,
      words: ctx.message.text.trim(),
      sentAt: ctx.message.date,
    }),
  );
  return bot;
}

const userOf = (ctx: Context): string => `telegram-${ctx.from!.id}`;
