// All stickers of a pack as one: rows of four, 512 pixels wide, so that a pack is a single message.
import sharp from "sharp";

const WIDTH = 512;
const COLUMNS = 4;
const CELL = WIDTH / COLUMNS;

export async function makeSheet(stickers: readonly Uint8Array[]): Promise<Buffer> {
  const rows = Math.max(1, Math.ceil(stickers.length / COLUMNS));
  const cells = await Promise.all(
    stickers.map(async (sticker, at) => ({
      input: await sharp(sticker).resize(CELL, CELL).png().toBuffer(),
      left: (at % COLUMNS) * CELL,
      top: Math.floor(at / COLUMNS) * CELL,
    })),
  );
  const background = { r: 0, g: 0, b: 0, alpha: 0 };
  return sharp({ create: { width: WIDTH, height: rows * CELL, channels: 4, background } })
    .composite(cells)
    .webp({ quality: 90 })
    .toBuffer();
}
