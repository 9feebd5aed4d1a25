// The kinds of jobs, shared by the process that takes updates and the workers that draw.
import { defineJob, exponential, type MessageEnd } from "fairmill";
import { z } from "zod";
import { gemini, geminiTokens, PICTURE_TOKENS } from "./providers.js";

/** A drawing that a step made: where its file is, and which service made it. */
export interface Drawn {
  readonly key: string;
  readonly by: string;
}

const tokens = geminiTokens.with({ tokens: PICTURE_TOKENS });
const request = z.object({ user: z.string(), chat: z.number(), words: z.string().min(1).max(200) });

/**
 * One sticker for one user. It costs a credit of the user: reserved from now on, captured when the sticker is made, given back when it is not.
 * A user has one at a time, and a second request is refused rather than queued: the answer comes at once, in words, and an
 * impatient user does not find five credits reserved.
 */
export const makeSticker = defineJob({
  kind: "sticker.make",
  queue: "stickers",
  input: request,
  key: ({ user }) => user,
  limits: { active: 1, whenActive: "refuse", rate: { limit: 5, per: "1m", at: "enqueue" }, uses: [tokens] },
  credits: { account: ({ user }) => user },
  // While no model is open, jobs wait in their lanes and hold no worker: `fairmill why` says which provider they wait for.
  needs: [gemini],
  retry: { attempts: 4, backoff: exponential({ base: "1s", cap: "30s" }) },
  timeout: "2m",
  // Later than this the user has gone away: the credit goes back.
  expire: "30m",
});

/** Tells a user that a sticker could not be made; what is dead is asked of the batch. */
export const apologise = defineJob({
  kind: "sticker.apologise",
  queue: "stickers",
  input: z.object({ chat: z.number(), update: z.number() }),
});

/** One sticker of a pack. */
export const drawPackSticker = defineJob<{ pack: string; creature: string; mood: string }, { key: string }>({
  kind: "pack.sticker",
  queue: "packs",
  limits: { uses: [tokens] },
  needs: [gemini],
  retry: { attempts: 4, backoff: exponential({ base: "1s", cap: "30s" }) },
  timeout: "2m",
});

/** A message to Telegram has its end: `telegramChannel` names this kind. */
export const messageEnded = defineJob<MessageEnd>({ kind: "message.ended", queue: "outbox" });

/** Removes files that are old. */
export const sweepFiles = defineJob<Record<string, never>>({ kind: "files.sweep", queue: "packs", timeout: "1h" });
