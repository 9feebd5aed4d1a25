// The settings of a pool: one object of defaults, everything checked, unknown and contradictory ones refused by name, frozen.

import { type Duration, toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { ifGiven, nameOf, oneOf, readable, refuseUnknown, wholeNumber } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import { ALLOCATIONS, type WorkerAllocationStrategy } from "./allocation.js";
import { checkFloors, type Floor, type FloorOptions } from "./scale/floors.js";

/** The setting `worker` of a config, and of createSupervisor. */
export interface PoolOptions {
  /** The name under which supervisors of several hosts, decisions and children are found; default "default". */
  readonly pool?: string;
  /** At least so many children; default 2. With 0 the pool ends its last child when there is nothing to do. */
  readonly minInstances?: number;
  /** At most so many; default 10. */
  readonly maxInstances?: number;
  /** How often children are measured and reported; default "30s". */
  readonly healthCheckInterval?: Duration;
  /** A child that failed so often in a row is not started again; default 3. */
  readonly maxConsecutiveFailures?: number;
  /** A process whose loop does not answer for so long is killed, and its jobs count a crash; default "60s". */
  readonly hangTimeout?: Duration;
  /** Which child gets a job; default "least-busy". */
  readonly allocation?: keyof typeof ALLOCATIONS | WorkerAllocationStrategy;
  /** What says how many children there should be; default "utilisation". */
  readonly policy?: "utilisation" | "targetWait";
  /** Of the policy targetWait: how long a job may wait to be started; default "30s". */
  readonly targetWait?: Duration;
  /** How often that is decided; default "10s". */
  readonly scaleInterval?: Duration;
  /** Up when more than this part of the capacity is busy for `busyFor`; default 0.8 for "5m". */
  readonly busyAbove?: number;
  readonly busyFor?: Duration;
  /** Down when less than this part is busy for `idleFor`; default 0.3 for "15m". */
  readonly idleBelow?: number;
  readonly idleFor?: Duration;
  /** Of the policy targetWait: at most so many more by one decision; default 4. */
  readonly stepMax?: number;
  /** More children than `minInstances` at certain hours. */
  readonly floors?: readonly FloorOptions[];
  /** Connections to the database that each child opens itself, and how many the pool may have of them. */
  readonly connections?: { readonly perChild: number; readonly max: number };
  /** Bytes that children may have together; default: the limit of the container, less a tenth. */
  readonly memoryBytesMax?: number;
  /** When a process is replaced by a fresh one. */
  readonly recycle?: { readonly jobs?: number; readonly age?: Duration; readonly memoryBytes?: number };
  /** How long running jobs of a kind may go on when their process is to end; others have `grace`. */
  readonly graceByKind?: Readonly<Record<string, Duration>>;
  /** Arguments for Node in children, like "--max-old-space-size=512". */
  readonly execArgv?: readonly string[];
  /** What is scaled: processes of this host, or replicas of a Kubernetes Deployment, each with a supervisor of fixed size. */
  readonly target?: "local" | { readonly kubernetes: KubernetesOptions };
}

export interface KubernetesOptions {
  readonly deployment: string;
  /** Default: that of the service account. */
  readonly namespace?: string;
  /** Default: the address in the environment of every pod. */
  readonly apiUrl?: string;
  /** Folder of the service account: token, ca.crt, namespace. */
  readonly serviceAccountFolder?: string;
  /** Which pods are the Deployment's: label=value,… */
  readonly selector?: string;
  /** Children that the supervisor of each pod has; default 1. */
  readonly childrenPerPod?: number;
}

export interface PoolSettings {
  readonly pool: string;
  readonly min: number;
  readonly max: number;
  readonly healthMs: number;
  readonly failuresMax: number;
  readonly hangMs: number;
  readonly allocation: WorkerAllocationStrategy;
  readonly policy: "utilisation" | "targetWait";
  readonly targetWaitMs: number;
  readonly scaleMs: number;
  readonly busyAbove: number;
  readonly busyForMs: number;
  readonly idleBelow: number;
  readonly idleForMs: number;
  readonly stepMax: number;
  readonly floors: readonly Floor[];
  readonly connections: { readonly perChild: number; readonly max: number } | undefined;
  readonly memoryBytesMax: number | undefined;
  readonly recycle: { readonly jobs?: number; readonly ageMs?: number; readonly memoryBytes?: number };
  readonly graceMsByKind: ReadonlyMap<string, number>;
  readonly execArgv: readonly string[];
  readonly kubernetes: KubernetesOptions | undefined;
}

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

export const checkPoolOptions = (options: PoolOptions = {}, where = "worker"): PoolSettings =>
  readable("worker", where, () => check(options, where));

function check(options: PoolOptions, where: string): PoolSettings {
  refuseUnknown(options, Object.keys(KNOWN), where);
  const min = wholeNumber(
    options.minInstances ?? Math.min(2, options.maxInstances ?? 2),
    0,
    INSTANCES_MAX,
    `${where}.minInstances`,
  );
  const max = wholeNumber(options.maxInstances ?? Math.max(10, min), 1, INSTANCES_MAX, `${where}.maxInstances`);
  if (min > max)
    throw new ConfigError("minInstances", `${where}.minInstances: ${min} is more than maxInstances, which is ${max}.`);
  const healthMs = spanOf(options.healthCheckInterval ?? "30s", 100, `${where}.healthCheckInterval`);
  const busyAbove = shareOf(options.busyAbove ?? 0.8, `${where}.busyAbove`);
  const idleBelow = shareOf(options.idleBelow ?? 0.3, `${where}.idleBelow`);
  if (idleBelow >= busyAbove)
    throw new ConfigError(
      "idleBelow",
      `${where}.idleBelow: must be less than busyAbove, or the pool would grow and shrink at once.`,
    );
  return Object.freeze({
    pool: nameOf(options.pool ?? "default", `${where}.pool`),
    min,
    max,
    healthMs,
    failuresMax: wholeNumber(options.maxConsecutiveFailures ?? 3, 1, 1_000, `${where}.maxConsecutiveFailures`),
    hangMs: spanOf(options.hangTimeout ?? "60s", 500, `${where}.hangTimeout`),
    allocation: allocationOf(options.allocation ?? "least-busy", where),
    policy: oneOf(options.policy ?? "utilisation", ["utilisation", "targetWait"], "policy", where),
    targetWaitMs: spanOf(options.targetWait ?? "30s", 100, `${where}.targetWait`),
    scaleMs: spanOf(options.scaleInterval ?? "10s", 100, `${where}.scaleInterval`),
    busyAbove,
    busyForMs: toMs(options.busyFor ?? "5m", `${where}.busyFor`),
    idleBelow,
    idleForMs: toMs(options.idleFor ?? "15m", `${where}.idleFor`),
    stepMax: wholeNumber(options.stepMax ?? 4, 1, INSTANCES_MAX, `${where}.stepMax`),
    floors: checkFloors(options.floors ?? [], max, `${where}.floors`),
    connections: connectionsOf(options.connections, min, where),
    memoryBytesMax:
      options.memoryBytesMax === undefined
        ? undefined
        : wholeNumber(options.memoryBytesMax, 1, BYTES_MAX, `${where}.memoryBytesMax`),
    recycle: recycleOf(options.recycle ?? {}, `${where}.recycle`),
    graceMsByKind: gracesOf(options.graceByKind ?? {}, `${where}.graceByKind`),
    execArgv: textsOf(options.execArgv ?? [], `${where}.execArgv`),
    kubernetes: kubernetesOf(options.target ?? "local", `${where}.target`),
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

function connectionsOf(given: PoolOptions["connections"], min: number, where: string): PoolSettings["connections"] {
  if (given === undefined) return undefined;
  const setting = `${where}.connections`;
  refuseUnknown(given, ["perChild", "max"], setting);
  const perChild = wholeNumber(given.perChild, 1, 10_000, `${setting}.perChild`);
  const max = wholeNumber(given.max, 1, 1_000_000, `${setting}.max`);
  if (perChild * min > max)
    throw new ConfigError(
      "connections",
      `${setting}: ${min} children (minInstances) with ${perChild} each need more than ${max}.`,
    );
  return { perChild, max };
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

function kubernetesOf(given: NonNullable<PoolOptions["target"]>, where: string): KubernetesOptions | undefined {
  if (given === "local") return undefined;
  if (typeof given !== "object" || given === null)
    throw new ConfigError(
      "target",
      `${where}: ${showValue(given)} is neither "local" nor { kubernetes: { deployment } }.`,
    );
  refuseUnknown(given, ["kubernetes"], where);
  refuseUnknown(
    given.kubernetes,
    ["deployment", "namespace", "apiUrl", "serviceAccountFolder", "selector", "childrenPerPod"],
    `${where}.kubernetes`,
  );
  const { kubernetes } = given;
  nameOf(kubernetes.deployment, `${where}.kubernetes.deployment`);
  wholeNumber(kubernetes.childrenPerPod ?? 1, 1, INSTANCES_MAX, `${where}.kubernetes.childrenPerPod`);
  return Object.freeze({ ...kubernetes });
}
