// Takes a plain background away: from the edges inwards, everything that has nearly the background's colour becomes transparent. Good
// enough where the picture was asked for "on a plain green background"; a paid service does better with hair and shadows.
import sharp from "sharp";

/** How far a pixel's colour may lie from the background's: where the background reaches it from the edge, and where it is enclosed. */
const REACH = { open: 70, enclosed: 40 };

/** A PNG with transparency. `feather`: soften the edge by so many pixels. */
export async function cutOut(picture: Uint8Array, feather = 0): Promise<Buffer> {
  const { data, info } = await sharp(picture).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const { width, height } = info;
  const alpha = alphaOf(data, width, height);
  const mask = sharp(alpha, { raw: { width, height, channels: 1 } });
  const edge = feather > 0 ? await mask.blur(feather).toColourspace("b-w").raw().toBuffer() : alpha;
  for (let at = 0; at < width * height; at++) data[at * 4 + 3] = edge[at]!;
  return sharp(data, { raw: { width, height, channels: 4 } })
    .png()
    .toBuffer();
}

/** 0 where the background is, found by walking from the edges; 255 elsewhere. */
function alphaOf(data: Buffer, width: number, height: number): Buffer {
  const alpha = Buffer.alloc(width * height, 255);
  const isBackground = (at: number, reach: number): boolean => {
    const red = data[at * 4]! - data[0]!;
    const green = data[at * 4 + 1]! - data[1]!;
    const blue = data[at * 4 + 2]! - data[2]!;
    return red * red + green * green + blue * blue < reach * reach;
  };
  const open: number[] = [];
  const visit = (at: number): void => {
    if (alpha[at] === 0 || !isBackground(at, REACH.open)) return;
    alpha[at] = 0;
    open.push(at);
  };
  for (let x = 0; x < width; x++) {
    visit(x);
    visit((height - 1) * width + x);
  }
  for (let y = 0; y < height; y++) {
    visit(y * width);
    visit(y * width + width - 1);
  }
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const x = at % width;
    if (x > 0) visit(at - 1);
    if (x < width - 1) visit(at + 1);
    if (at >= width) visit(at - width);
    if (at < width * (height - 1)) visit(at + width);
  }
  for (let at = 0; at < alpha.length; at++) if (isBackground(at, REACH.enclosed)) alpha[at] = 0;
  return alpha;
}
