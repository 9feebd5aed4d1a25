// The picture model's HTTP interface: generateContent with an image in the answer, API keys, usage in tokens, and errors in its own shape.
import sharp from "sharp";
import { drawCreature } from "./drawing.js";
import { type Answer, json, SimulatedService, type Taken, type Weather } from "./service.js";

interface GenerateRequest {
  readonly contents?: readonly { readonly parts?: readonly { readonly text?: string }[] }[];
}

const ROUTE = /^\/v1beta\/models\/([\w.-]+):generateContent$/;
const STATUS = { 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE" } as const;
/** What one picture counts for. */
const IMAGE_TOKENS = 1_290;

export class GeminiSimulator extends SimulatedService {
  /** Models that answer with 503 while the others work. */
  readonly downModels = new Set<string>();
  readonly #apiKey: string;

  constructor(apiKey: string, weather: Partial<Weather> = {}, random?: () => number) {
    super({ latencyMs: [600, 1_400], perSecond: 30, inFlightMax: 20, ...weather }, random);
    this.#apiKey = apiKey;
  }

  protected async answer({ method, path, query, headers, body }: Taken): Promise<Answer> {
    const model = ROUTE.exec(path)?.[1];
    if (method !== "POST" || model === undefined) return failure(404, "NOT_FOUND", `${path} is not found.`);
    if ((headers["x-goog-api-key"] ?? query.get("key")) !== this.#apiKey)
      return failure(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.");
    if (this.downModels.has(model)) return this.refuse(503, this.retryAfterSeconds);
    const prompt = promptOf(body);
    if (prompt === undefined) return failure(400, "INVALID_ARGUMENT", "contents is not specified");
    const quality = model.includes("flash") ? "plain" : "fine";
    const picture = await sharp(Buffer.from(drawCreature(prompt, quality)))
      .png()
      .toBuffer();
    const promptTokenCount = Math.ceil(prompt.length / 4);
    return json(200, {
      candidates: [
        {
          content: {
            role: "model",
            parts: [{ inlineData: { mimeType: "image/png", data: picture.toString("base64") } }],
          },
          finishReason: "STOP",
          index: 0,
        },
      ],
      usageMetadata: {
        promptTokenCount,
        candidatesTokenCount: IMAGE_TOKENS,
        totalTokenCount: promptTokenCount + IMAGE_TOKENS,
      },
      modelVersion: model,
    });
  }

  protected refuse(status: 429 | 500 | 503, retryAfterSeconds: number): Answer {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${retryAfterSeconds}s` }];
    return failure(
      status,
      STATUS[status],
      status === 429 ? "You exceeded your current quota." : "The model is overloaded.",
      details,
    );
  }

  protected aboutOf({ body }: Taken): string {
    return promptOf(body) ?? "";
  }
}

const failure = (code: number, status: string, message: string, details?: unknown[]): Answer =>
  json(code, { error: { code, message, status, ...(details && { details }) } });

function promptOf(body: Buffer): string | undefined {
  try {
    const { contents } = JSON.parse(body.toString("utf8")) as GenerateRequest;
    return (
      contents
        ?.flatMap(({ parts }) => parts ?? [])
        .map(({ text }) => text ?? "")
        .join(" ") || undefined
    );
  } catch {
    return undefined;
  }
}
