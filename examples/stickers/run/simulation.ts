// The simulators of the services whose keys are not set, and the environment that leads bot and workers to them.

import type { Environment } from "../settings.js";
import { GeminiSimulator } from "../simulators/gemini.js";
import { PixianSimulator } from "../simulators/pixian.js";
import type { Weather } from "../simulators/service.js";
import { TelegramSimulator } from "../simulators/telegram.js";

export interface Simulation {
  /** Undefined: the real one is used. */
  readonly telegram: TelegramSimulator | undefined;
  readonly gemini: GeminiSimulator | undefined;
  readonly pixian: PixianSimulator | undefined;
  readonly environment: Record<string, string>;
  stop(): Promise<void>;
}

const KEYS = {
  token: "1:simulated",
  secret: "simulated-secret",
  gemini: "simulated",
  id: "simulated",
  pixian: "simulated",
};

export async function startSimulation(given: Environment = {}, weather: Partial<Weather> = {}): Promise<Simulation> {
  const telegram = given["TELEGRAM_TOKEN"] ? undefined : new TelegramSimulator(KEYS.token, weather);
  const gemini = given["GEMINI_API_KEY"] ? undefined : new GeminiSimulator(KEYS.gemini, weather);
  const pixian = given["PIXIAN_API_ID"] ? undefined : new PixianSimulator(KEYS.id, KEYS.pixian, weather);
  const environment: Record<string, string> = {};
  if (telegram)
    Object.assign(environment, {
      TELEGRAM_TOKEN: KEYS.token,
      TELEGRAM_SECRET: KEYS.secret,
      TELEGRAM_API_ROOT: await telegram.start(),
    });
  if (gemini) Object.assign(environment, { GEMINI_API_KEY: KEYS.gemini, GEMINI_API_ROOT: await gemini.start() });
  if (pixian)
    Object.assign(environment, {
      PIXIAN_API_ID: KEYS.id,
      PIXIAN_API_SECRET: KEYS.pixian,
      PIXIAN_API_ROOT: await pixian.start(),
    });
  return {
    telegram,
    gemini,
    pixian,
    environment,
    stop: async () => {
      for (const service of [telegram, gemini, pixian]) await service?.stop();
    },
  };
}
