// Limits of the whole fleet, in the database: whatever the number of workers, the services see no more than this. They can be changed while
// everything runs. A limit in units of a provider (requests, tokens, money) would stand at `callService`; these count jobs.
import type { Client } from "fairmill";
import { drawPackSticker, makeSticker } from "./jobs.js";
import type { TelegramChannel } from "./telegram-channel.js";

export async function setFleetLimits(client: Client, telegram: TelegramChannel): Promise<void> {
  // The picture model takes ten calls at once. Users come first: packs get two of them.
  await client.kinds.set(makeSticker.kind, { maxRunning: 8 });
  await client.kinds.set(drawPackSticker.kind, { maxRunning: 2 });
  // Telegram takes thirty messages a second from a bot. Status lines in chats need some of them.
  await client.kinds.set(telegram.definition.kind, { rate: { limit: 20, per: "1s" } });
}
