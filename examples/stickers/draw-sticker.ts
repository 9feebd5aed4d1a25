// From words to a sticker in three steps, each kept: a run that comes after a crash goes on behind the last one and pays for nothing twice.
import { createHash } from "node:crypto";
import type { JobContext } from "fairmill";
import type { Storage } from "fairmill/storage";
import type { BackgroundRemover } from "./background-remover.js";
import type { Catalogue } from "./catalogue.js";
import type { Drawn } from "./jobs.js";
import type { PictureModel } from "./picture-model.js";
import { geminiTokens } from "./providers.js";
import { makeWebp } from "./sticker-webp.js";

export interface Studio {
  readonly storage: Storage;
  readonly catalogue: Catalogue;
  readonly pictures: PictureModel;
  readonly remover: BackgroundRemover;
}

/** `tell` is called before each step, with words for the user. */
export async function drawSticker(
  { storage, catalogue, pictures, remover }: Studio,
  ctx: Pick<JobContext, "id" | "step" | "call" | "use">,
  { folder, words }: { folder: string; words: string },
  tell: (doing: string) => Promise<void> = async () => {},
): Promise<Drawn> {
  const draft = `${folder}/${ctx.id}-${createHash("sha256").update(words).digest("hex").slice(0, 8)}`;
  await tell("drawing");
  // A run that finds the picture uses none.
  let tokens = 0;
  const picture = await ctx.step("picture", () =>
    drawnOnce(storage, `${draft}-picture.png`, async () => {
      const drawn = await pictures.draw(ctx, await catalogue.promptOf(words));
      tokens = drawn.tokens;
      return drawn;
    }),
  );
  await ctx.use(geminiTokens, { tokens });
  await tell("cutting out");
  const cutout = await ctx.step("cutout", () =>
    drawnOnce(storage, `${draft}-cutout.png`, async () => remover.remove(ctx, await fileOf(storage, picture.key))),
  );
  await tell("adding the outline");
  return ctx.step("sticker", async () => {
    const key = `${folder}/${ctx.id}.webp`;
    await storage.put(key, await makeWebp(await fileOf(storage, cutout.key)));
    return { key, by: `${picture.by}, ${cutout.by}` };
  });
}

/**
 * A file that is there was paid for by a run that died before its step was kept: it is used, not bought again. Its name tells job and words,
 * because job ids begin again in a new database and the folder may be older.
 */
async function drawnOnce(
  storage: Storage,
  key: string,
  draw: () => Promise<{ bytes: Uint8Array; by: string }>,
): Promise<Drawn> {
  if (await storage.head(key)) return { key, by: "an earlier run" };
  const { bytes, by } = await draw();
  await storage.put(key, bytes);
  return { key, by };
}

export async function fileOf(storage: Storage, key: string): Promise<Uint8Array<ArrayBuffer>> {
  const file = await storage.get(key);
  if (!file) throw new Error(`The file ${key} is not in the storage ${storage.name} any more.`);
  return file.body;
}
