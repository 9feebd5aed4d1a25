// The picture model: words in, a picture out. When the first model cannot, the second one is asked.
import { callService, ServiceBusyError, ServiceRefusedError } from "./service-call.js";
import type { Settings } from "./settings.js";

export interface Picture {
  readonly bytes: Uint8Array;
  /** Which model drew it. */
  readonly by: string;
}

interface Generated {
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly { readonly inlineData?: { readonly data: string } }[] };
  }[];
}

/** The plain background is what the cut-out lives on. */
const promptOf = (words: string): string =>
  `A sticker of ${words}: one creature, whole body, thick outline, on a plain green background, no text.`;

export class PictureModel {
  readonly #settings: Settings["pictures"];

  constructor(settings: Settings["pictures"]) {
    this.#settings = settings;
  }

  /** Throws a ServiceBusyError when no model could, with the shortest wait that any of them asked for. */
  async draw(words: string, signal: AbortSignal): Promise<Picture> {
    const refusals: ServiceBusyError[] = [];
    for (const model of this.#settings.models)
      try {
        return { bytes: await this.#ask(model, words, signal), by: model };
      } catch (error) {
        if (!(error instanceof ServiceBusyError)) throw error;
        refusals.push(error);
      }
    const waits = refusals.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
    const what = refusals.map(({ message }) => message).join(" ");
    throw new ServiceBusyError(
      "No picture model",
      `can draw now: ${what}`,
      waits.length > 0 ? Math.min(...waits) : undefined,
    );
  }

  async #ask(model: string, words: string, signal: AbortSignal): Promise<Uint8Array> {
    const { apiRoot, apiKey } = this.#settings;
    const answer = await callService(
      `The model ${model}`,
      `${apiRoot}/v1beta/models/${model}:generateContent`,
      {
        method: "POST",
        headers: { "content-type": "application/json", "x-goog-api-key": apiKey },
        body: JSON.stringify({
          contents: [{ parts: [{ text: promptOf(words) }] }],
          generationConfig: { responseModalities: ["TEXT", "IMAGE"] },
        }),
      },
      signal,
    );
    const { candidates } = (await answer.json()) as Generated;
    const parts = candidates?.flatMap(({ content }) => content?.parts ?? []) ?? [];
    const picture = parts.find(({ inlineData }) => inlineData)?.inlineData;
    // An answer in words is the model's way to say no; it was paid for all the same.
    if (!picture) throw new ServiceRefusedError(`The model ${model} would not draw this.`);
    return Buffer.from(picture.data, "base64");
  }
}
