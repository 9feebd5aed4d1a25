// `fairmill/pool`: what one needs beyond `createSupervisor`: allocation strategies, the brain of the autoscaler, types of settings and facts.

export {
  type AllocatableJob,
  type Allocation,
  KeyAffinityAllocation,
  LeastBusyAllocation,
  NoWorkersAvailableError,
  type PoolWorker,
  RoundRobinAllocation,
  type WorkerAllocationStrategy,
  WorkerBusyError,
} from "./allocation.js";
export type { ChildFacts } from "./child.js";
export { CHILD_TRANSITIONS, type ChildState } from "./life-cycle.js";
export type { Metric } from "./metrics.js";
export { CrashLoopError, KubernetesError } from "./pool-errors.js";
export type { ExternalOptions, KubernetesOptions, PoolOptions } from "./pool-settings.js";
export {
  decideScale,
  type ScaleDecision,
  type ScaleHistory,
  type ScaleInputs,
  type ScaleSettings,
} from "./scale/brain.js";
export type { FloorOptions } from "./scale/floors.js";
export { createSupervisor, Supervisor } from "./supervisor.js";
export type { SupervisorEvents } from "./supervisor-events.js";
export type { SupervisorHealth } from "./supervisor-health.js";
export type { SupervisorOptions } from "./supervisor-settings.js";
