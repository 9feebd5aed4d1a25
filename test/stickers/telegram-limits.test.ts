// What Telegram allows: thirty messages a second from the bot, one a second from a chat, edits included.
import type { Api } from "grammy";
import { expect, test } from "vitest";
import { ChatStatus } from "../../examples/stickers/chat-status.js";
import { userSays } from "../../examples/stickers/simulators/updates.js";
import { limitTelegram } from "../../examples/stickers/telegram-channel.js";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";
import { startBot } from "./bot-rig.js";

const db = useDatabase();
const USERS = Array.from({ length: 30 }, (_, n) => n + 1);

test("stickers and lines about progress of many chats at once: Telegram refuses none of them", async () => {
  const bot = await startBot(db.url);
  await limitTelegram(bot.parts.client, bot.parts.telegram);
  // Slow enough for lines to be edited.
  bot.gemini.weather.latencyMs = [1_100, 1_300];
  await bot.startWorker();
  for (const user of USERS) await bot.joins(user);
  for (const user of USERS) await bot.text(user, "Send me words");
  const welcomedAt = Date.now();
  await waitUntil("each chat has rested", () => Date.now() - welcomedAt > 1_100);
  const from = bot.telegram.log.length;
  await Promise.all(USERS.map((user) => bot.brings(userSays(user, `a proud bear for ${user}`))));
  for (const user of USERS) await bot.sticker(user);
  await waitUntil("no message under way", async () =>
    (
      await Promise.all((["pending", "sending"] as const).map((status) => bot.parts.client.outbox.list({ status })))
    ).every(({ length }) => length === 0),
  );
  const calls = bot.telegram.log.slice(from);
  expect(calls.filter(({ status }) => status !== 200)).toEqual([]);
  const edits = calls.filter(({ route }) => route.endsWith("editMessageText"));
  expect(edits.length).toBeGreaterThan(0);
  const times = calls.map(({ at }) => at).sort((a, b) => a - b);
  const most = Math.max(...times.map((at) => times.filter((other) => other >= at && other < at + 1_000).length));
  expect(most).toBeLessThanOrEqual(30);
});

test("a process sends three lines about progress in a second, and leaves out what is more", async () => {
  const lines: string[] = [];
  const api = {
    sendMessage: async (_chat: number, text: string) => {
      lines.push(text);
      return { message_id: lines.length };
    },
  } as unknown as Api;
  const say = (n: number) => ChatStatus.say(api, n, `line ${n}`);
  // Whatever an earlier test has sent.
  await waitUntil("a line is sent again", async () => (await say(0)) !== null);
  for (let burst = 0; burst < 2; burst++) {
    lines.length = 0;
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => say(n)));
    expect(lines.length).toBeLessThanOrEqual(3);
    expect(answers.filter((id) => id !== null)).toHaveLength(lines.length);
    await waitUntil("a line is sent again", async () => (await say(0)) !== null);
  }
});
