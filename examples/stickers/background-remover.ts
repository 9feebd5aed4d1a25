// Takes the background away: by the paid service, or by our own simpler way while the service cannot.
import type { JobContext } from "fairmill";
import type { CallContext } from "fairmill/observe";
import { ownCutout, pixian } from "./providers.js";
import { goodAnswer } from "./service-answer.js";
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

  remove(ctx: Pick<JobContext, "call">, picture: Uint8Array<ArrayBuffer>): Promise<Cutout> {
    return ctx.call<Cutout>(pixian, async (call) =>
      call.provider === ownCutout
        ? { bytes: await cutOut(picture), by: "local" }
        : { bytes: await this.#ask(call, picture), by: "pixian" },
    );
  }

  async #ask(call: CallContext, picture: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    const { apiRoot, apiId, apiSecret } = this.#settings;
    const form = new FormData();
    form.set("image", new Blob([picture], { type: "image/png" }), "picture.png");
    const authorization = `Basic ${Buffer.from(`${apiId}:${apiSecret}`).toString("base64")}`;
    const answer = await fetch(`${apiRoot}/api/v2/remove-background`, {
      method: "POST",
      headers: { authorization },
      body: form,
      signal: call.signal,
    });
    return new Uint8Array(await (await goodAnswer(call, answer)).arrayBuffer());
  }
}
