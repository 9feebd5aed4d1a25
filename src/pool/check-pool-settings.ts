// Checks the settings of a pool: defaults, everything by itself and then together, unknown and contradictory ones refused by name, frozen.
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { ifGiven, nameOf, oneOf, readable, refuseUnknown, wholeNumber } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import { ALLOCATIONS, type WorkerAllocationStrategy } from "./allocation.js";
import { refuseCertainContradictions, refuseContradictions } from "./pool-contradictions.js";
import type { ExternalOptions, KubernetesOptions, Pods, PoolOptions, PoolSettings } from "./pool-settings.js";
import { checkFloors } from "./scale/floors.js";

const KNOWN: Record<keyof PoolOptions, true> = {
  pool: true,
  minInstances: true,
  maxInstances: true,
  healthCheckInterval: true,
  maxConsecutiveFailures: true,
  hangTimeout: true,
  allocation: true,
  policy: true,
  targetWait: true,
  scaleInterval: true,
  busyAbove: true,
  busyFor: true,
  idleBelow: true,
  idleFor: true,
  stepMax: true,
  floors: true,
  connections: true,
  memoryBytesMax: true,
  recycle: true,
  graceByKind: true,
  execArgv: true,
  target: true,
};

const INSTANCES_MAX = 1_000;
const BYTES_MAX = 2 ** 50;

/** Of a whole pool: each setting by itself, and whether they fit together. */
export const checkPoolOptions = (options: PoolOptions = {}, where = "worker"): PoolSettings =>
  readable("worker", where, () => {
    const settings = check(options, where);
    refuseContradictions(options, settings, where);
    return settings;
  });

/** Of settings that others will be added to: each by itself, and those that contradict each other whatever is added. */
export const checkPoolPart = (options: PoolOptions, where: string): void =>
  readable("worker", where, () => refuseCertainContradictions(options, check(options, where), where));

function check(options: PoolOptions, where: string): PoolSettings {
  refuseUnknown(options, Object.keys(KNOWN), where);
  const min = wholeNumber(
    options.minInstances ?? Math.min(2, options.maxInstances ?? 2),
    0,
    INSTANCES_MAX,
    `${where}.minInstances`,
  );
  return Object.freeze({
    pool: nameOf(options.pool ?? "default", `${where}.pool`),
    min,
    max: wholeNumber(options.maxInstances ?? Math.max(10, min), 1, INSTANCES_MAX, `${where}.maxInstances`),
    healthMs: spanOf(options.healthCheckInterval ?? "30s", 100, `${where}.healthCheckInterval`),
    failuresMax: wholeNumber(options.maxConsecutiveFailures ?? 3, 1, 1_000, `${where}.maxConsecutiveFailures`),
    hangMs: spanOf(options.hangTimeout ?? "60s", 500, `${where}.hangTimeout`),
    allocation: allocationOf(options.allocation ?? "least-busy", where),
    policy: oneOf(options.policy ?? "utilisation", ["utilisation", "targetWait"], "policy", where),
    targetWaitMs: spanOf(options.targetWait ?? "30s", 100, `${where}.targetWait`),
    scaleMs: spanOf(options.scaleInterval ?? "10s", 100, `${where}.scaleInterval`),
    busyAbove: shareOf(options.busyAbove ?? 0.8, `${where}.busyAbove`),
    busyForMs: toMs(options.busyFor ?? "5m", `${where}.busyFor`),
    idleBelow: shareOf(options.idleBelow ?? 0.3, `${where}.idleBelow`),
    idleForMs: toMs(options.idleFor ?? "15m", `${where}.idleFor`),
    stepMax: wholeNumber(options.stepMax ?? 4, 1, INSTANCES_MAX, `${where}.stepMax`),
    floors: checkFloors(options.floors ?? [], INSTANCES_MAX, `${where}.floors`),
    connections: connectionsOf(options.connections, where),
    memoryBytesMax:
      options.memoryBytesMax === undefined
        ? undefined
        : wholeNumber(options.memoryBytesMax, 1, BYTES_MAX, `${where}.memoryBytesMax`),
    recycle: recycleOf(options.recycle ?? {}, `${where}.recycle`),
    graceMsByKind: gracesOf(options.graceByKind ?? {}, `${where}.graceByKind`),
    execArgv: textsOf(options.execArgv ?? [], `${where}.execArgv`),
    pods: podsOf(options.target ?? "local", `${where}.target`),
  });
}

function spanOf(duration: Duration, leastMs: number, setting: string): number {
  const ms = toMs(duration, setting);
  if (ms >= leastMs) return ms;
  throw new ConfigError(setting, `${setting}: ${showValue(duration)} is less than ${leastMs} ms.`);
}

function shareOf(value: unknown, setting: string): number {
  if (typeof value === "number" && value > 0 && value <= 1) return value;
  throw new ConfigError(setting, `${setting}: ${showValue(value)} is not a part between 0 and 1.`);
}

function allocationOf(given: NonNullable<PoolOptions["allocation"]>, where: string): WorkerAllocationStrategy {
  if (typeof given === "object" && given !== null && typeof given.allocate === "function") return given;
  return ALLOCATIONS[oneOf(given, Object.keys(ALLOCATIONS) as (keyof typeof ALLOCATIONS)[], "allocation", where)]();
}

function connectionsOf(given: PoolOptions["connections"], where: string): PoolSettings["connections"] {
  if (given === undefined) return undefined;
  const setting = `${where}.connections`;
  refuseUnknown(given, ["perChild", "max"], setting);
  return {
    perChild: wholeNumber(given.perChild, 1, 10_000, `${setting}.perChild`),
    max: wholeNumber(given.max, 1, 1_000_000, `${setting}.max`),
  };
}

function recycleOf(given: NonNullable<PoolOptions["recycle"]>, where: string): PoolSettings["recycle"] {
  refuseUnknown(given, ["jobs", "age", "memoryBytes"], where);
  return {
    ...ifGiven("jobs", given.jobs, (jobs) => wholeNumber(jobs, 1, 2 ** 40, `${where}.jobs`)),
    ...ifGiven("ageMs", given.age, (age) => spanOf(age, 1_000, `${where}.age`)),
    ...ifGiven("memoryBytes", given.memoryBytes, (bytes) => wholeNumber(bytes, 1, BYTES_MAX, `${where}.memoryBytes`)),
  };
}

function gracesOf(given: Readonly<Record<string, Duration>>, where: string): ReadonlyMap<string, number> {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new ConfigError("graceByKind", `${where}: ${showValue(given)} is no object, like { "video.render": "10m" }.`);
  return new Map(Object.entries(given).map(([kind, grace]) => [nameOf(kind, where), toMs(grace, `${where}.${kind}`)]));
}

function textsOf(given: readonly string[], where: string): readonly string[] {
  if (Array.isArray(given) && given.every((one) => typeof one === "string")) return Object.freeze([...given]);
  throw new ConfigError("execArgv", `${where}: ${showValue(given)} is not a list of texts.`);
}

function podsOf(given: NonNullable<PoolOptions["target"]>, where: string): Pods | undefined {
  if (given === "local") return undefined;
  if (typeof given !== "object" || given === null)
    throw new ConfigError(
      "target",
      `${where}: ${showValue(given)} is neither "local" nor { kubernetes: { deployment } } nor { external: {} }.`,
    );
  refuseUnknown(given, ["kubernetes", "external"], where);
  const { kubernetes, external } = given as { kubernetes?: KubernetesOptions; external?: ExternalOptions };
  if ((kubernetes === undefined) === (external === undefined))
    throw new ConfigError("target", `${where}: name one of kubernetes and external.`);
  if (external !== undefined) {
    refuseUnknown(external, ["childrenPerPod"], `${where}.external`);
    return { childrenPerPod: childrenOf(external, `${where}.external`), kubernetes: undefined };
  }
  refuseUnknown(
    kubernetes,
    ["deployment", "namespace", "apiUrl", "serviceAccountFolder", "selector", "childrenPerPod"],
    `${where}.kubernetes`,
  );
  nameOf(kubernetes!.deployment, `${where}.kubernetes.deployment`);
  return {
    childrenPerPod: childrenOf(kubernetes!, `${where}.kubernetes`),
    kubernetes: Object.freeze({ ...kubernetes! }),
  };
}

const childrenOf = ({ childrenPerPod = 1 }: ExternalOptions, where: string): number =>
  wholeNumber(childrenPerPod, 1, INSTANCES_MAX, `${where}.childrenPerPod`);
