// Puts the bot together from its settings: the same parts in the process that takes updates and in every worker.
import { type Client, createClient } from "fairmill";
import { defineStorage, folderStorage, type Storage } from "fairmill/storage";
import { Api } from "grammy";
import pg from "pg";
import { BackgroundRemover } from "./background-remover.js";
import { Catalogue } from "./catalogue.js";
import { People } from "./people.js";
import { PictureModel } from "./picture-model.js";
import type { Settings } from "./settings.js";
import { type TelegramChannel, telegramChannel } from "./telegram-channel.js";

export interface Parts {
  readonly settings: Settings;
  readonly db: pg.Pool;
  readonly client: Client;
  readonly people: People;
  readonly catalogue: Catalogue;
  readonly storage: Storage;
  readonly api: Api;
  readonly telegram: TelegramChannel;
  readonly pictures: PictureModel;
  readonly remover: BackgroundRemover;
  close(): Promise<void>;
}

export function createParts(settings: Settings): Parts {
  const db = new pg.Pool({
    connectionString: settings.databaseUrl,
    max: 5,
    // An idle connection does not keep a worker's process from ending.
    allowExitOnIdle: true,
    application_name: "stickers",
  });
  // An idle connection that breaks is no news: the next query says so.
  db.on("error", () => {});
  const client = createClient({ db, schema: settings.schema });
  // For a bucket, put `s3Storage({ … })` here: nothing else changes.
  const storage = defineStorage({ name: "stickers", driver: folderStorage({ path: settings.filesFolder }) });
  const api = new Api(settings.telegram.token, { apiRoot: settings.telegram.apiRoot });
  return {
    settings,
    db,
    client,
    people: new People(db, settings.schema),
    catalogue: new Catalogue(db, client, settings.schema),
    storage,
    api,
    telegram: telegramChannel(api, storage),
    pictures: new PictureModel(settings.pictures),
    remover: new BackgroundRemover(settings.remover),
    close: async () => {
      await client.close();
      await db.end();
    },
  };
}
