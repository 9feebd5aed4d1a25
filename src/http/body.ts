// The body of a request: JSON, no larger than its route allows, no deeper than a payload may be.
import { findInexactInteger, inexactText } from "../base/inexact-integers.js";
import { HttpProblem, requestInvalid } from "./problem.js";

/** A payload may be 64 deep; the request around it is a little deeper. */
const DEPTH_MAX = 80;

const tooLarge = (bytesMax: number) =>
  new HttpProblem(413, "FAIRMILL_HTTP_BODY_TOO_LARGE", `The body is larger than ${bytesMax} bytes.`);

/** The value; undefined: there was no body. */
export async function readJson(request: Request, bytesMax: number): Promise<unknown> {
  const said = Number(request.headers.get("content-length") ?? "0");
  if (said > bytesMax) throw tooLarge(bytesMax);
  const bytes = request.body === null ? Buffer.alloc(0) : await readBytes(request.body, bytesMax);
  if (bytes.length === 0) return undefined;
  const type = (request.headers.get("content-type") ?? "").split(";")[0]!.trim().toLowerCase();
  if (type !== "application/json")
    throw new HttpProblem(415, "FAIRMILL_HTTP_JSON_ONLY", 'Send JSON, with "content-type: application/json".');
  return parse(bytes);
}

async function readBytes(body: ReadableStream<Uint8Array>, bytesMax: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength;
    if (length > bytesMax) throw tooLarge(bytesMax);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parse(bytes: Buffer): unknown {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (depthOf(text) > DEPTH_MAX) throw requestInvalid([{ path: "", message: `is deeper than ${DEPTH_MAX}` }]);
    const value = JSON.parse(text) as unknown;
    const inexact = findInexactInteger(text);
    if (inexact !== undefined) throw requestInvalid([{ path: "", message: inexactText(inexact) }]);
    return value;
  } catch (error) {
    if (error instanceof HttpProblem) throw error;
    throw requestInvalid([{ path: "", message: "the body is not JSON in UTF-8" }]);
  }
}

/** How deep brackets go, outside of texts: asked before parsing, because what is read must be written again without running out of stack. */
function depthOf(text: string): number {
  let [depth, deepest] = [0, 0];
  let isInside = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (isInside) {
      if (code === 92) i++;
      else if (code === 34) isInside = false;
    } else if (code === 34) isInside = true;
    else if (code === 123 || code === 91) deepest = Math.max(deepest, ++depth);
    else if (code === 125 || code === 93) depth--;
  }
  return deepest;
}
