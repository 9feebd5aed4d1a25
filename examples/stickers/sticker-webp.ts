// Makes a sticker of a cut-out: 512 pixels on its longer side, a white outline, WebP below Telegram's limit of 512 kB.
import sharp from "sharp";

const SIDE = 512;
const MARGIN = 20;
const OUTLINE = 8;
const BYTES_MAX = 512 * 1_024;

export async function makeWebp(cutout: Uint8Array): Promise<Buffer> {
  const inner = SIDE - 2 * MARGIN;
  const creature = await sharp(cutout).trim().resize(inner, inner, { fit: "inside" }).png().toBuffer();
  const placed = await sharp({
    create: { width: SIDE, height: SIDE, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } },
  })
    .composite([{ input: creature, gravity: "centre" }])
    .png()
    .toBuffer();
  const outlined = await sharp(await outlineOf(placed))
    .composite([{ input: placed }])
    .png()
    .toBuffer();
  for (let quality = 90; ; quality -= 20) {
    const sticker = await sharp(outlined).webp({ quality, alphaQuality: 90 }).toBuffer();
    if (sticker.length <= BYTES_MAX || quality <= 30) return sticker;
  }
}

/** The creature's shape, a few pixels wider, in white. */
async function outlineOf(placed: Buffer): Promise<Buffer> {
  const channel = { width: SIDE, height: SIDE, channels: 1 } as const;
  const grown = await sharp(placed).extractChannel("alpha").blur(OUTLINE).toColourspace("b-w").raw().toBuffer();
  for (const [at, value] of grown.entries()) grown[at] = value > 14 ? 255 : 0;
  const smooth = await sharp(grown, { raw: channel }).blur(0.8).toColourspace("b-w").raw().toBuffer();
  return sharp({ create: { width: SIDE, height: SIDE, channels: 3, background: "#ffffff" } })
    .joinChannel(smooth, { raw: channel })
    .png()
    .toBuffer();
}
