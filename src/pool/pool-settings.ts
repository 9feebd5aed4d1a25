// The settings of a pool: as they are written, and as they are used once they are checked (`check-pool-settings.ts`).
import type { Duration } from "../base/duration.js";
import type { ALLOCATIONS, WorkerAllocationStrategy } from "./allocation.js";
import type { ScaleSettings } from "./scale/brain.js";
import type { FloorOptions } from "./scale/floors.js";

/** The setting `worker` of a config, and of createSupervisor. */
export interface PoolOptions {
  /** The name under which supervisors of several hosts, decisions and children are found; default "default". */
  readonly pool?: string;
  /** At least this many children; default 2. With 0 the pool ends its last child when there is nothing to do. */
  readonly minInstances?: number;
  /** At most this many; default 10. */
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
  /** Of the policy targetWait: at most this many more by one decision; default 4. */
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
  /**
   * What is scaled: processes of this host; replicas of a Kubernetes Deployment; or pods, or hosts, that something else starts and ends, which asks how many
   * are desired (KEDA). Where it is pods, each has a supervisor of fixed size, and `minInstances` and `maxInstances` count pods.
   */
  readonly target?: "local" | { readonly kubernetes: KubernetesOptions } | { readonly external: ExternalOptions };
}

export interface ExternalOptions {
  /** Children that the supervisor of each pod has; default 1. */
  readonly childrenPerPod?: number;
}

export interface KubernetesOptions extends ExternalOptions {
  readonly deployment: string;
  /** Default: that of the service account. */
  readonly namespace?: string;
  /** Default: the address in the environment of every pod. */
  readonly apiUrl?: string;
  /** Folder of the service account: token, ca.crt, namespace. */
  readonly serviceAccountFolder?: string;
  /** Which pods are the Deployment's: label=value,… */
  readonly selector?: string;
}

/** Pods with a supervisor each: what is scaled, where it is not the children of this host. */
export interface Pods {
  readonly childrenPerPod: number;
  /** Undefined: something else starts and ends them. */
  readonly kubernetes: KubernetesOptions | undefined;
}

export interface PoolSettings extends ScaleSettings {
  readonly pool: string;
  readonly healthMs: number;
  readonly failuresMax: number;
  readonly hangMs: number;
  readonly allocation: WorkerAllocationStrategy;
  readonly scaleMs: number;
  readonly memoryBytesMax: number | undefined;
  readonly recycle: { readonly jobs?: number; readonly ageMs?: number; readonly memoryBytes?: number };
  readonly graceMsByKind: ReadonlyMap<string, number>;
  readonly execArgv: readonly string[];
  /** Undefined: children of this host are scaled. */
  readonly pods: Pods | undefined;
}
