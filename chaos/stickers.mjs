// `npm run chaos -- --programme stickers`: the sticker bot under faults, on a PostgreSQL of its own.
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createJiti } from "jiti";
import { startEmbedded } from "../dist/embedded/index.js";
import { dice } from "./dice.mjs";

const REQUESTS_MAX = 10_000;

/** The exit code. */
export async function runStickers(argv, signal) {
  let options;
  try {
    options = readOptions(argv);
  } catch (error) {
    console.error(`error: ${error.message}`);
    return 2;
  }
  const { requests, seed, json } = options;
  console.error(`seed ${seed}, ${requests} requests`);
  const fromMs = performance.now();
  const say = (text) => console.error(`${((performance.now() - fromMs) / 1_000).toFixed(0).padStart(5)} s  ${text}`);
  const folder = await mkdtemp(join(tmpdir(), "fairmill-chaos-"));
  await chmod(folder, 0o711);
  let server;
  try {
    server = await startEmbedded({ dataDir: join(folder, "postgres"), durable: true });
    const jiti = createJiti(import.meta.url, { fsCache: false, interopDefault: false });
    const { runChaos } = await jiti.import("../examples/stickers/chaos/run-chaos.ts");
    const crash = async () => {
      await server.stop("immediate");
      await server.restart();
    };
    const result = await runChaos({ databaseUrl: server.url, requests, random: dice(seed), crash, say, signal });
    console.log(json ? JSON.stringify({ ...options, ...result }, undefined, 1) : report(result));
    return result.problems.length > 0 ? 1 : 0;
  } catch (error) {
    console.error(`error: ${error instanceof Error ? error.message : error}`);
    return process.exitCode ?? 1;
  } finally {
    await server?.stop("immediate");
    await rm(folder, { recursive: true, force: true });
  }
}

function readOptions(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      programme: { type: "string" },
      requests: { type: "string", default: "500" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      json: { type: "boolean", default: false },
    },
  });
  if (values.programme !== "stickers") throw new Error(`--programme ${values.programme}: there is stickers.`);
  const whole = (name, text, most) => {
    if (/^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= most) return Number(text);
    throw new Error(`${name}: pass a whole number from 1 to ${most}.`);
  };
  return {
    requests: whole("--requests", values.requests, REQUESTS_MAX),
    seed: whole("--seed", values.seed, 2 ** 32 - 1),
    json: values.json,
  };
}

function report({ problems, figures, strikes }) {
  const { stickers, refunds, unknown, unknownArrived, cutWithinMs, crashes, cost } = figures;
  return [
    `${stickers} stickers arrived, ${refunds} users were refunded; ${unknown} answers are unknown, ${unknownArrived} of them had arrived; ${cost} USD of calls`,
    ...(unknown > 0 ? [`each of the unknown sends had begun at most ${cutWithinMs} ms before a strike`] : []),
    `killed: ${strikes.children} workers, ${strikes.supervisors} supervisors; PostgreSQL crashed ${strikes.crashes} times; ${crashes} runs of jobs were lost`,
    ...(problems.length === 0 ? ["No problems."] : problems.map((problem) => `PROBLEM ${problem}`)),
  ].join("\n");
}
