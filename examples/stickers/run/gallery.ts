// A page with the newest stickers, beside the dashboard: to look at what was drawn without opening files.
import { createFileHandler } from "fairmill/storage";
import { makeSticker } from "../jobs.js";
import type { Parts } from "../parts.js";

export const GALLERY = "/stickers";
const FILES = `${GALLERY}/files`;
const SHOWN = 60;
const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'",
};
const STYLE = `body{margin:2rem;font:14px system-ui;background:#3d4152;color:#fff}main{display:grid;gap:1rem;
grid-template-columns:repeat(auto-fill,minmax(140px,1fr))}figure{margin:0;text-align:center}img{width:100%}a{color:inherit}`;

/** Undefined: the request is for neither the page nor a picture. Only by the names of this machine, as the dashboard. */
export function createGallery({ client, storage }: Parts): (request: Request) => Promise<Response> | undefined {
  const files = createFileHandler({ storage, path: FILES, isPublic: (key) => key.endsWith(".webp") });
  const page = async (): Promise<Response> => {
    const jobs = await client.jobs.list({ kind: makeSticker.kind, state: "done", limit: SHOWN });
    // A community's name has no letters that mean something in HTML (`people.ts`).
    const figures = jobs.map(({ id, tenant, result }) => {
      const picture = `${FILES}/${encodeURI((result as { key: string }).key)}`;
      return `<figure><img src="${picture}" alt="sticker ${id}"><a href="/#/jobs/${id}">job ${id}, ${tenant}</a></figure>`;
    });
    const body = `<!doctype html><html lang="en"><meta http-equiv="refresh" content="3"><title>Stickers</title><style>${STYLE}</style>
<p>The newest stickers; the page renews itself. <a href="/">Dashboard</a></p><main>${figures.join("")}</main></html>`;
    return new Response(body, { headers: HEADERS });
  };
  return (request) => {
    const { hostname, pathname } = new URL(request.url);
    if (hostname !== "127.0.0.1" && hostname !== "localhost") return undefined;
    if (pathname.startsWith(`${FILES}/`)) return files(request);
    return pathname === GALLERY ? page() : undefined;
  };
}
