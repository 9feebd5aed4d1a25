// The autoscaler of a supervisor: with children of this host as what is scaled, or with the replicas of a Deployment.
import type { Pool } from "../pool.js";
import type { PoolSettings } from "../pool-settings.js";
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
  const { kubernetes, memoryBytesMax } = settings;
  if (kubernetes === undefined)
    return new Scaler({ ...options, target: new LocalTarget({ pool, capacity, hosts, memoryBytesMax }) });
  const times = kubernetes.childrenPerPod ?? 1;
  const ofPod = () => new Map([...capacity()].map(([queue, count]) => [queue, count * times]));
  const target = new KubernetesTarget({
    ...{ db, pool: settings.pool, supervisor, kubernetes, capacity: ofPod },
    leaseMs: 3 * settings.scaleMs,
  });
  return new Scaler({ ...options, capacity: ofPod, target });
}
