// Settings of a pool that are right by themselves and cannot all be meant: refused by the name of the one that would not do what it says.
import { ConfigError } from "../base/errors.js";
import type { PoolOptions, PoolSettings } from "./pool-settings.js";

const refusal = (where: string) => (setting: string, why: string) => {
  throw new ConfigError(setting.replace(/\W.*/, ""), `${where}.${setting}: ${why}`);
};

/** Of settings to which a config adds others: only what both sides of a contradiction are given of. */
export function refuseCertainContradictions(options: PoolOptions, settings: PoolSettings, where: string): void {
  const isGiven = (...names: (keyof PoolOptions)[]) => names.every((name) => options[name] !== undefined);
  refuseBounds(
    {
      ...settings,
      ...(!isGiven("minInstances", "maxInstances") && { min: 0 }),
      ...(!isGiven("idleBelow", "busyAbove") && { idleBelow: 0 }),
      ...(!isGiven("floors", "maxInstances") && { floors: [] }),
    },
    where,
  );
}

function refuseBounds(settings: PoolSettings, where: string): void {
  const { min, max, busyAbove, idleBelow, floors } = settings;
  const refuse = refusal(where);
  if (min > max) refuse("minInstances", `${min} is more than maxInstances, which is ${max}.`);
  if (idleBelow >= busyAbove)
    refuse("idleBelow", "must be less than busyAbove, or the pool would grow and shrink at once.");
  for (const [i, floor] of floors.entries())
    if (floor.min > max)
      refuse(`floors[${i}].minInstances`, `${floor.min} is more than maxInstances, which is ${max}.`);
}

export function refuseContradictions(options: PoolOptions, settings: PoolSettings, where: string): void {
  const { min, connections, policy, pods } = settings;
  const refuse = refusal(where);
  refuseBounds(settings, where);
  const children = min * (pods?.childrenPerPod ?? 1);
  if (connections !== undefined && children * connections.perChild > connections.max)
    refuse(
      "connections",
      `${children} children (minInstances) with ${connections.perChild} each need more than ${connections.max}.`,
    );
  if (policy === "utilisation")
    for (const name of ["targetWait", "stepMax"] as const)
      if (options[name] !== undefined) refuse(name, 'is of the policy "targetWait", and the policy is "utilisation".');
  if (pods === undefined) return;
  if (options.memoryBytesMax !== undefined)
    refuse(
      "memoryBytesMax",
      'is of children of one host (target "local"): each pod has the memory that its manifest says.',
    );
  if (min === 0 && pods.kubernetes !== undefined)
    refuse("minInstances", "0 would end the last pod, and with it what could start one: use target external and KEDA.");
}
