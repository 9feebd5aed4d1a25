// The background remover's HTTP interface: an image in a form, Basic authentication, the cut-out as PNG, credits charged in a header.

import { createHash } from "node:crypto";
import { cutOut } from "../sticker-cutout.js";
import { formOf } from "./form.js";
import { type Answer, json, SimulatedService, type Taken, type Weather } from "./service.js";

const MESSAGES = { 429: "Too many requests.", 500: "Internal error.", 503: "Temporarily unavailable." } as const;

export class PixianSimulator extends SimulatedService {
  readonly #authorization: string;

  constructor(apiId: string, apiSecret: string, weather: Partial<Weather> = {}, random?: () => number) {
    super({ latencyMs: [200, 600], perSecond: 20, inFlightMax: 5, ...weather }, random);
    this.#authorization = `Basic ${Buffer.from(`${apiId}:${apiSecret}`).toString("base64")}`;
  }

  protected async answer(request: Taken): Promise<Answer> {
    if (request.method !== "POST" || request.path !== "/api/v2/remove-background")
      return failure(404, 1_001, "Unknown route.");
    if (request.headers.authorization !== this.#authorization) return failure(401, 1_002, "Unauthorized.");
    const image = formOf(request).get("image");
    if (!(image instanceof Blob)) return failure(400, 1_003, "The image parameter is missing.");
    const cut = await cutOut(new Uint8Array(await image.arrayBuffer()), 0.6).catch(() => undefined);
    if (!cut) return failure(400, 1_004, "The image could not be read.");
    return { status: 200, headers: { "content-type": "image/png", "x-credits-charged": "1.000000" }, body: cut };
  }

  protected refuse(status: 429 | 500 | 503, retryAfterSeconds: number): Answer {
    return failure(status, status, MESSAGES[status], { "retry-after": String(retryAfterSeconds) });
  }

  protected aboutOf({ body }: Taken): string {
    return createHash("sha256").update(body.subarray(200)).digest("hex").slice(0, 16);
  }
}

const failure = (status: number, code: number, message: string, headers: Record<string, string> = {}): Answer =>
  json(status, { error: { status, code, message } }, headers);
