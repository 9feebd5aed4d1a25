// Reads a multipart form as services do, which are less strict about the spelling of its headers than `Response.formData`.
import type { Taken } from "./service.js";

class BadFormError extends Error {}

/** The parts of a form by name: texts, and files as Blob. A text `attach://x` stands for the file x, as Telegram has it. */
export function formOf({ headers, body }: Taken): FormData {
  const boundary = /boundary="?([^";]+)"?/.exec(headers["content-type"] ?? "")?.[1];
  if (boundary === undefined) throw new BadFormError("There is no boundary.");
  const files = new Map<string, Blob>();
  const texts = new Map<string, string>();
  for (const part of partsOf(body, Buffer.from(`--${boundary}`))) {
    const headEnd = part.indexOf("\r\n\r\n");
    if (headEnd < 0) continue;
    const head = part.subarray(0, headEnd).toString("utf8");
    const content = part.subarray(headEnd + 4, part.length - 2);
    const name = /[; ]name="([^"]*)"/i.exec(head)?.[1];
    if (name === undefined) continue;
    if (/filename=/i.test(head)) files.set(name, new Blob([new Uint8Array(content)]));
    else texts.set(name, content.toString("utf8"));
  }
  const form = new FormData();
  for (const [name, file] of files) form.set(name, file);
  for (const [name, text] of texts) form.set(name, files.get(text.replace(/^attach:\/\//, "")) ?? text);
  return form;
}

/** What lies between the boundaries, each from behind its line end. */
function* partsOf(body: Buffer, boundary: Buffer): Generator<Buffer> {
  let start = body.indexOf(boundary);
  while (start >= 0) {
    const begin = start + boundary.length + 2;
    const end = body.indexOf(boundary, begin);
    if (end < 0) return;
    yield body.subarray(begin, end);
    start = end;
  }
}
