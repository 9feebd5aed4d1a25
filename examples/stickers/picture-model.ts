// The picture model: words in, a picture out. While the first model is closed or fails, the second one is asked.
import type { JobContext } from "fairmill";
import type { CallContext } from "fairmill/observe";
import { gemini, PICTURE_TOKENS, secondModel } from "./providers.js";
import { goodAnswer, ServiceRefusedError } from "./service-answer.js";
import type { Settings } from "./settings.js";

export interface Picture {
  readonly bytes: Uint8Array;
  /** Which model drew it. */
  readonly by: string;
  /** What the model counted for it. */
  readonly tokens: number;
}

interface Generated {
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly { readonly inlineData?: { readonly data: string } }[] };
  }[];
  readonly usageMetadata?: { readonly totalTokenCount?: number };
}

export class PictureModel {
  readonly #settings: Settings["pictures"];

  constructor(settings: Settings["pictures"]) {
    this.#settings = settings;
  }

  draw(ctx: Pick<JobContext, "call">, prompt: string): Promise<Picture> {
    const [first, second] = this.#settings.models;
    return ctx.call(gemini, async (call) => {
      const model = call.provider === secondModel ? second : first;
      return { ...(await this.#ask(call, model, prompt)), by: model };
    });
  }

  async #ask(call: CallContext, model: string, prompt: string): Promise<Omit<Picture, "by">> {
    const { apiRoot, apiKey } = this.#settings;
    const answer = await fetch(`${apiRoot}/v1beta/models/${model}:generateContent`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-goog-api-key": apiKey },
      body: JSON.stringify({
        contents: [{ parts: [{ text: prompt }] }],
        generationConfig: { responseModalities: ["TEXT", "IMAGE"] },
      }),
      signal: call.signal,
    });
    const { candidates, usageMetadata } = (await (await goodAnswer(call, answer)).json()) as Generated;
    const parts = candidates?.flatMap(({ content }) => content?.parts ?? []) ?? [];
    const picture = parts.find(({ inlineData }) => inlineData)?.inlineData;
    // An answer in words is the model's way to say no; it was paid for all the same.
    if (!picture) throw new ServiceRefusedError(`The model ${model} would not draw this.`);
    return { bytes: Buffer.from(picture.data, "base64"), tokens: usageMetadata?.totalTokenCount ?? PICTURE_TOKENS };
  }
}
