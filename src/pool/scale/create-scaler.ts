// The autoscaler of a supervisor: with children of this host as what is scaled, the replicas of a Deployment, or pods that something else starts.
import type { Pool } from "../pool.js";
import type { PoolSettings } from "../pool-settings.js";
import { ExternalTarget } from "./external-target.js";
import { KubernetesTarget } from "./kubernetes-target.js";
import { LocalTarget } from "./local-target.js";
import { Scaler, type ScalerOptions } from "./scaler.js";

export interface CreateScalerOptions extends Omit<ScalerOptions, "settings" | "target"> {
  readonly settings: PoolSettings;
  readonly pool: Pool;
  readonly hosts: () => number;
}

/** `capacity` is that of one child. */
export function createScaler({ pool, hosts, ...options }: CreateScalerOptions): Scaler {
  const { db, settings, supervisor, capacity } = options;
  const { pods, memoryBytesMax, connections } = settings;
  if (pods === undefined)
    return new Scaler({ ...options, target: new LocalTarget({ pool, capacity, hosts, memoryBytesMax }) });
  const { childrenPerPod: times, kubernetes } = pods;
  const ofPod = () => new Map([...capacity()].map(([queue, count]) => [queue, count * times]));
  const shared = { db, pool: settings.pool, supervisor, leaseMs: 3 * settings.scaleMs, capacity: ofPod };
  return new Scaler({
    ...options,
    capacity: ofPod,
    settings: { ...settings, connections: connections && { ...connections, perChild: connections.perChild * times } },
    target: kubernetes ? new KubernetesTarget({ ...shared, kubernetes }) : new ExternalTarget(shared),
  });
}
