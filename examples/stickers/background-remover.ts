// Takes the background away: by the paid service, or by our own simpler way while the service cannot.
import { callService, ServiceBusyError } from "./service-call.js";
import type { Settings } from "./settings.js";
import { cutOut } from "./sticker-cutout.js";

export interface Cutout {
  readonly bytes: Uint8Array;
  readonly by: "pixian" | "local";
}

export class BackgroundRemover {
  readonly #settings: Settings["remover"];

  constructor(settings: Settings["remover"]) {
    this.#settings = settings;
  }

  async remove(picture: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<Cutout> {
    try {
      return { bytes: await this.#ask(picture, signal), by: "pixian" };
    } catch (error) {
      // A wrong key or an unreadable picture is no outage: that must be seen, not worked around.
      if (!(error instanceof ServiceBusyError)) throw error;
      return { bytes: await cutOut(picture), by: "local" };
    }
  }

  async #ask(picture: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<Uint8Array> {
    const { apiRoot, apiId, apiSecret } = this.#settings;
    const form = new FormData();
    form.set("image", new Blob([picture], { type: "image/png" }), "picture.png");
    const authorization = `Basic ${Buffer.from(`${apiId}:${apiSecret}`).toString("base64")}`;
    const url = `${apiRoot}/api/v2/remove-background`;
    const answer = await callService(
      "The background remover",
      url,
      { method: "POST", headers: { authorization }, body: form },
      signal,
    );
    return new Uint8Array(await answer.arrayBuffer());
  }
}
