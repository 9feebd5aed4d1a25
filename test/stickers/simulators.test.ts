// The simulated services answer like the real ones, keep their limits, and log what a duplicate would be seen by.
import { connect } from "node:net";
import sharp from "sharp";
import { afterEach, describe, expect, test } from "vitest";
import { MOODS } from "../../examples/stickers/moods.js";
import { drawCreature } from "../../examples/stickers/simulators/drawing.js";
import { GeminiSimulator } from "../../examples/stickers/simulators/gemini.js";
import { PixianSimulator } from "../../examples/stickers/simulators/pixian.js";
import type { SimulatedService } from "../../examples/stickers/simulators/service.js";
import { TelegramSimulator } from "../../examples/stickers/simulators/telegram.js";
import { THINGS } from "../../examples/stickers/simulators/things.js";
import { cutOut } from "../../examples/stickers/sticker-cutout.js";
import { makeWebp } from "../../examples/stickers/sticker-webp.js";
import { waitUntil } from "../support/wait.js";

const running: SimulatedService[] = [];
afterEach(async () => {
  for (const service of running.splice(0)) await service.stop();
});
async function started<S extends SimulatedService>(service: S): Promise<{ service: S; url: string }> {
  running.push(service);
  return { service, url: await service.start() };
}

interface Generated {
  readonly candidates: [{ readonly content: { readonly parts: [{ readonly inlineData: { readonly data: string } }] } }];
  readonly usageMetadata: object;
}

const NO_WAIT = { latencyMs: [0, 0] as const };
const generate = (url: string, text: string, key = "key") =>
  fetch(`${url}/v1beta/models/gemini-image:generateContent`, {
    method: "POST",
    headers: { "x-goog-api-key": key },
    body: JSON.stringify({ contents: [{ parts: [{ text }] }] }),
  });

describe("the picture model", () => {
  test("answers with a picture that its words decide, and with what it used", async () => {
    const { url } = await started(new GeminiSimulator("key", NO_WAIT));
    const [first, second] = await Promise.all(
      ["happy cat", "happy cat"].map(async (words) => (await generate(url, words)).json() as Promise<Generated>),
    );
    const picture = Buffer.from(first!.candidates[0].content.parts[0].inlineData.data, "base64");
    expect(await sharp(picture).metadata()).toMatchObject({ format: "png", width: 768, height: 768 });
    expect(second).toEqual(first);
    expect(first!.usageMetadata).toEqual({ promptTokenCount: 3, candidatesTokenCount: 1_290, totalTokenCount: 1_293 });
  });

  test("refuses a wrong key, an unknown route and an empty prompt in its own shape", async () => {
    const { url } = await started(new GeminiSimulator("key", NO_WAIT));
    expect(await (await generate(url, "cat", "wrong")).json()).toMatchObject({
      error: { code: 400, status: "INVALID_ARGUMENT" },
    });
    expect((await fetch(`${url}/v1/nothing`)).status).toBe(404);
    expect((await generate(url, "")).status).toBe(400);
  });

  test("keeps idle connections as long as services do, so that a request rarely meets the end of one", async () => {
    const { url } = await started(new GeminiSimulator("key", NO_WAIT));
    expect((await generate(url, "a cat")).headers.get("keep-alive")).toBe("timeout=75");
  });

  test("stands when a caller goes away in the middle of its request, and no longer counts it", async () => {
    const { service, url } = await started(new GeminiSimulator("key", { ...NO_WAIT, inFlightMax: 1 }));
    const caller = connect(Number(new URL(url).port), "127.0.0.1");
    caller.on("error", () => {});
    caller.write(`POST /v1beta/models/gemini-image:generateContent HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{`);
    await waitUntil("it is answering", async () => (await generate(url, "cat")).status === 429);
    caller.destroy();
    await waitUntil("there is room again", async () => (await generate(url, "cat")).status === 200);
    expect(service.log.every(({ inFlight }) => inFlight <= 2)).toBe(true);
  });

  test("takes no more in a second than its limit, and says when to come again", async () => {
    const { service, url } = await started(new GeminiSimulator("key", { ...NO_WAIT, perSecond: 3 }));
    const answers = await Promise.all(Array.from({ length: 5 }, () => generate(url, "cat")));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(3);
    const refused = (await answers.find(({ status }) => status === 429)!.json()) as { error: object };
    expect(refused.error).toMatchObject({ status: "RESOURCE_EXHAUSTED", details: [{ retryDelay: "1s" }] });
    expect(service.log).toHaveLength(5);
    expect(new Set(service.log.map(({ about }) => about))).toEqual(new Set(["cat"]));
  });

  test("is down when it is told, and back when it is told", async () => {
    const { service, url } = await started(new GeminiSimulator("key", NO_WAIT));
    service.weather.isDown = true;
    expect((await generate(url, "cat")).status).toBe(503);
    service.weather.isDown = false;
    expect((await generate(url, "cat")).status).toBe(200);
    service.weather.failPercent = 100;
    expect((await generate(url, "cat")).status).toBe(500);
  });
});

test("the background remover wants its credentials and a picture, cuts it out and says what it charged", async () => {
  const { url } = await started(new PixianSimulator("id", "secret", NO_WAIT));
  const picture = await sharp(Buffer.from(drawCreature("sad bunny")))
    .png()
    .toBuffer();
  const post = (image: Blob | string, secret = "secret") => {
    const form = new FormData();
    form.set("image", image);
    const authorization = `Basic ${Buffer.from(`id:${secret}`).toString("base64")}`;
    return fetch(`${url}/api/v2/remove-background`, { method: "POST", headers: { authorization }, body: form });
  };
  const answer = await post(new Blob([new Uint8Array(picture)]));
  expect([answer.status, answer.headers.get("x-credits-charged")]).toEqual([200, "1.000000"]);
  expect((await sharp(await answer.arrayBuffer()).stats()).isOpaque).toBe(false);
  expect((await post(new Blob(["no picture"]))).status).toBe(400);
  expect((await post("no file")).status).toBe(400);
  expect((await post(new Blob([new Uint8Array(picture)]), "wrong")).status).toBe(401);
});

describe("Telegram", () => {
  const call = (url: string, method: string, parameters: object) =>
    fetch(`${url}/bottoken/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(parameters),
    }).then(async (answer) => ({
      status: answer.status,
      ...((await answer.json()) as { result?: { message_id: number }; parameters?: object }),
    }));

  test("keeps what a chat shows, edits it, and takes one message a second from a chat", async () => {
    const { service, url } = await started(new TelegramSimulator("token", { ...NO_WAIT, perSecond: 10_000 }));
    const sent = await call(url, "sendMessage", { chat_id: 7, text: "drawing …" });
    expect(sent.status).toBe(200);
    expect(await call(url, "sendMessage", { chat_id: 7, text: "again" })).toMatchObject({
      status: 429,
      parameters: { retry_after: 1 },
    });
    expect((await call(url, "sendMessage", { chat_id: 8, text: "another chat" })).status).toBe(200);
    const edit = () => call(url, "editMessageText", { chat_id: 7, message_id: sent.result!.message_id, text: "done" });
    // Edits count, too.
    expect((await edit()).status).toBe(429);
    await waitUntil("an edit that is taken", async () => (await edit()).status === 200);
    expect(service.chats.get("7")).toMatchObject([{ text: "done" }]);
    expect((await call(url, "editMessageText", { chat_id: 7, message_id: 99, text: "x" })).status).toBe(400);
    expect((await call(url, "sendSticker", { chat_id: 9 })).status).toBe(400);
    expect((await fetch(`${url}/botwrong/getMe`)).status).toBe(401);
  });

  test("brings updates to the webhook with its secret", async () => {
    const { service, url } = await started(new TelegramSimulator("token", NO_WAIT));
    await expect(service.userWrites({ update_id: 1 })).rejects.toThrow("no webhook");
    await call(url, "setWebhook", { url: `${url}/bottoken/getMe`, secret_token: "s3cret" });
    expect(await service.userWrites({ update_id: 1 })).toBe(200);
  });
});

test("every mood becomes a sticker that Telegram takes: 512 pixels, WebP, transparent, small, and without the background", async () => {
  for (const mood of MOODS) {
    const picture = await sharp(Buffer.from(drawCreature(`${mood} cat`)))
      .png()
      .toBuffer();
    const sticker = await makeWebp(await cutOut(picture));
    expect(await sharp(sticker).metadata()).toMatchObject({ format: "webp", width: 512, height: 512, hasAlpha: true });
    expect(sticker.length).toBeLessThanOrEqual(512 * 1_024);
    const { data } = await sharp(sticker).raw().toBuffer({ resolveWithObject: true });
    let green = 0;
    for (let at = 0; at < data.length; at += 4)
      if (data[at + 3]! > 200 && data[at + 1]! > 190 && data[at]! < 80 && data[at + 2]! < 130) green++;
    expect(green).toBeLessThan(200);
  }
});

test("a creature is the same one in every mood, as the catalogue describes it, and carries what the words name", () => {
  const colours = (svg: string) => svg.match(/stop-color="[^"]+"/g)!.join();
  const pack = MOODS.map((mood) =>
    drawCreature(`A sticker of a ${mood} ghost, pack-7: one creature, looking ${mood}.`),
  );
  expect([new Set(pack).size, new Set(pack.map(colours)).size]).toEqual([MOODS.length, 1]);
  const ghosts = Array.from({ length: 20 }, (_, n) => drawCreature(`a happy ghost, pack-${n}`));
  expect(new Set(ghosts.map(colours)).size).toBeGreaterThan(2);
  for (const [thing, drawn] of Object.entries(THINGS)) expect(drawCreature(`a sad cat with ${thing}`)).toContain(drawn);
});
