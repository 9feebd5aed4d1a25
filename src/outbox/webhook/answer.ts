// What a receiver answered: its status, and a little of what it said, for people.
import type { IncomingMessage } from "node:http";

export interface WebhookAnswer {
  readonly status: number;
  /** The beginning of what it said. */
  readonly text: string;
  /** There was more, or it did not come to its end. */
  readonly isCut: boolean;
}

/** Reads up to `readMax` bytes, so that an ordinary answer comes to its end, and keeps the first `keepMax`. Never rejects. */
export function readAnswer(response: IncomingMessage, readMax: number, keepMax: number): Promise<WebhookAnswer> {
  const status = response.statusCode ?? 0;
  return new Promise((resolve) => {
    const kept: Buffer[] = [];
    let keptBytes = 0;
    let readBytes = 0;
    const end = (isCut: boolean) => resolve({ status, text: textOf(Buffer.concat(kept)), isCut });
    response.on("data", (chunk: Buffer) => {
      readBytes += chunk.length;
      const part = chunk.subarray(0, keepMax - keptBytes);
      keptBytes += part.length;
      if (part.length > 0) kept.push(part);
      if (readBytes > readMax) end(true);
    });
    response.on("end", () => end(readBytes > keptBytes));
    // The status came: whatever happens to the rest, it stands.
    response.on("error", () => end(true));
    response.on("close", () => end(true));
  });
}

/** As PostgreSQL can keep it. A letter that was cut in the middle is left out. */
function textOf(bytes: Buffer): string {
  const decoder = new TextDecoder("utf-8");
  return decoder.decode(bytes, { stream: true }).replaceAll("\0", "\ufffd");
}
