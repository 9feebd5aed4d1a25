// What the bot is told by its environment. Without keys of the real services their simulators are used: `run/simulation.ts` sets the addresses.
import { join } from "node:path";

export interface Settings {
  readonly databaseUrl: string;
  readonly schema: string;
  /** Where pictures, cut-outs and stickers are kept. */
  readonly filesFolder: string;
  readonly telegram: { readonly token: string; readonly apiRoot: string; readonly secret: string };
  readonly pictures: { readonly apiRoot: string; readonly apiKey: string; readonly models: readonly [string, string] };
  readonly remover: { readonly apiRoot: string; readonly apiId: string; readonly apiSecret: string };
  /** The chat that gets the pack of the night. */
  readonly packChat: number;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** What each service is when it is the real one. */
const REAL = {
  TELEGRAM_API_ROOT: "https://api.telegram.org",
  GEMINI_API_ROOT: "https://generativelanguage.googleapis.com",
  GEMINI_MODEL: "gemini-3-pro-image-preview",
  GEMINI_MODEL_FALLBACK: "gemini-2.5-flash-image",
  PIXIAN_API_ROOT: "https://api.pixian.ai",
  FAIRMILL_SCHEMA: "fairmill",
  STICKERS_FOLDER: join(process.cwd(), ".fairmill", "stickers"),
  PACK_CHAT: "900001",
} as const;

export function readSettings(environment: Environment = process.env): Settings {
  const read = (name: string): string => {
    const value = environment[name] || (REAL as Environment)[name];
    if (value) return value;
    throw new Error(
      `${name} is not set. See examples/stickers/.env.example, or run \`npm start\`, which needs no keys.`,
    );
  };
  return {
    databaseUrl: read("DATABASE_URL"),
    schema: read("FAIRMILL_SCHEMA"),
    filesFolder: read("STICKERS_FOLDER"),
    telegram: {
      token: read("TELEGRAM_TOKEN"),
      apiRoot: read("TELEGRAM_API_ROOT"),
      secret: read("TELEGRAM_SECRET"),
    },
    pictures: {
      apiRoot: read("GEMINI_API_ROOT"),
      apiKey: read("GEMINI_API_KEY"),
      models: [read("GEMINI_MODEL"), read("GEMINI_MODEL_FALLBACK")],
    },
    remover: {
      apiRoot: read("PIXIAN_API_ROOT"),
      apiId: read("PIXIAN_API_ID"),
      apiSecret: read("PIXIAN_API_SECRET"),
    },
    packChat: Number(read("PACK_CHAT")),
  };
}

/** Where the webhook listens on this machine; 0: any free port. */
export function readWebhookPort(environment: Environment = process.env): number {
  const given = environment["WEBHOOK_PORT"] || "0";
  const port = Number(given);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new Error(`WEBHOOK_PORT is ${given}: it is a number up to 65535, or left out.`);
}
