// A small server that speaks S3: keeps objects in memory and checks every signature by the published rules, in its own words.
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface Stored {
  readonly body: Buffer;
  readonly headers: Record<string, string>;
}

export class S3Server {
  readonly objects = new Map<string, Stored>();
  readonly secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
  /** Answers the next requests instead of serving them. */
  readonly faults: { status: number; body: string }[] = [];
  requests = 0;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests++;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const answer = (status: number, content: string | Buffer = "", headers: Record<string, string> = {}) =>
      response.writeHead(status, headers).end(request.method === "HEAD" ? undefined : content);
    const fault = this.faults.shift();
    if (fault) return void answer(fault.status, fault.body);
    const url = new URL(request.url!, `http://${request.headers.host}`);
    const wrong = this.#faultOf(request, url, body);
    if (wrong) return void answer(403, `<Error><Code>SignatureDoesNotMatch</Code><Message>${wrong}</Message></Error>`);
    const key = decodeURIComponent(url.pathname.slice("/bucket/".length));
    if (url.pathname === "/bucket") return void answer(200, this.#list(url.searchParams));
    if (request.method === "PUT") {
      const etag = `"${createHash("md5").update(body).digest("hex")}"`;
      const { "content-type": contentType = "", "cache-control": cacheControl = "" } = request.headers;
      this.objects.set(key, {
        body,
        headers: {
          "content-type": contentType,
          "cache-control": cacheControl,
          etag,
          "last-modified": new Date().toUTCString(),
        },
      });
      return void answer(200, "", { etag });
    }
    if (request.method === "DELETE") {
      this.objects.delete(key);
      return void answer(204);
    }
    const object = this.objects.get(key);
    if (!object) return void answer(404, "<Error><Code>NoSuchKey</Code><Message>No such key</Message></Error>");
    answer(200, object.body, { ...object.headers, "content-length": String(object.body.length) });
  }

  #list(query: URLSearchParams): string {
    const keys = [...this.objects.keys()]
      .filter(
        (key) =>
          key.startsWith(query.get("prefix") ?? "") &&
          Buffer.compare(Buffer.from(key), Buffer.from(query.get("start-after") ?? "")) > 0,
      )
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      .slice(0, Number(query.get("max-keys") ?? 1_000));
    const items = keys.map(
      (key) =>
        `<Contents><Key>${encodeURIComponent(key).replaceAll("%2F", "/").replaceAll("%20", "+").replaceAll("'", "&#39;")}</Key><LastModified>${new Date().toISOString()}</LastModified><Size>${this.objects.get(key)!.body.length}</Size></Contents>`,
    );
    return `<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${items.join("")}</ListBucketResult>`;
  }

  /** What is wrong with the signature; undefined: nothing. */
  #faultOf(request: IncomingMessage, url: URL, body: Buffer): string | undefined {
    const query = new URLSearchParams(url.search);
    const isUrl = query.has("X-Amz-Signature");
    const parts = /Credential=([^,]+),SignedHeaders=([^,]+),Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? "",
    );
    if (!isUrl && !parts) return "no signature";
    const given = isUrl ? query.get("X-Amz-Signature")! : parts![3]!;
    const credential = isUrl ? query.get("X-Amz-Credential")! : parts![1]!;
    const signed = (isUrl ? query.get("X-Amz-SignedHeaders")! : parts![2]!).split(";");
    const date = isUrl ? query.get("X-Amz-Date")! : String(request.headers["x-amz-date"]);
    query.delete("X-Amz-Signature");
    if (isUrl && Date.now() > dateOf(date) + Number(query.get("X-Amz-Expires")) * 1_000) return "Request has expired";
    const bodyHash = isUrl ? "UNSIGNED-PAYLOAD" : createHash("sha256").update(body).digest("hex");
    if (!isUrl && request.headers["x-amz-content-sha256"] !== bodyHash) return "the body is not what was signed";
    const escaped = (text: string) =>
      encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
    const canonical = [
      request.method,
      url.pathname,
      [...query]
        .map(([n, v]) => `${escaped(n)}=${escaped(v)}`)
        .sort()
        .join("&"),
      ...signed.map((name) => `${name}:${String(request.headers[name]).trim()}`),
      "",
      signed.join(";"),
      bodyHash,
    ].join("\n");
    const [, day, region, service, end] = credential.split("/");
    const key = [day!, region!, service!, end!].reduce<Buffer>(
      (k, part) => createHmac("sha256", k).update(part).digest(),
      Buffer.from(`AWS4${this.secret}`),
    );
    const text = `AWS4-HMAC-SHA256\n${date}\n${[day, region, service, end].join("/")}\n${createHash("sha256").update(canonical).digest("hex")}`;
    const wanted = createHmac("sha256", key).update(text).digest("hex");
    return timingSafeEqual(Buffer.from(given), Buffer.from(wanted))
      ? undefined
      : "The request signature does not match";
  }
}

const dateOf = (stamp: string): number =>
  Date.parse(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
