// What a kind cannot run without: providers outside. The core knows their names and chains; what a provider is, its feature knows.
import { ConfigError } from "../../base/errors.js";
import { showValue } from "../../base/show-value.js";

/** A provider, made by `defineProvider`. */
export interface Needed {
  readonly name: string;
  /** Takes over when this one is closed or fails. */
  readonly fallback?: Needed | undefined;
  readonly "~provider": true;
}

/** Each of them must be open for a job to start; of a list, and of a provider with its fallbacks, one is enough. */
export type JobNeeds = readonly (Needed | readonly Needed[])[];

const NEEDS_MAX = 20;
const CHAIN_MAX = 10;

const isNeeded = (value: unknown): value is Needed =>
  typeof value === "object" && value !== null && (value as Partial<Needed>)["~provider"] === true;

/** A provider and its fallbacks in order, or those of a list. */
export function chainOf<One extends Needed>(given: One | readonly One[], where: string): readonly One[] {
  const chain: One[] = [];
  const add = (one: One | undefined) => {
    if (one === undefined) return;
    if (!isNeeded(one)) throw new ConfigError("needs", `${where}: ${showValue(one)} was not made by defineProvider.`);
    if (chain.some(({ name }) => name === one.name)) return;
    chain.push(one);
    add(one.fallback as One | undefined);
  };
  for (const one of Array.isArray(given) ? (given as readonly One[]) : [given as One]) add(one);
  if (chain.length === 0 || chain.length > CHAIN_MAX)
    throw new ConfigError("needs", `${where}: a chain has 1 to ${CHAIN_MAX} providers, this one has ${chain.length}.`);
  return chain;
}

/** As chains; empty: the kind needs nothing. */
export function checkJobNeeds(needs: JobNeeds | undefined, where: string): readonly (readonly Needed[])[] {
  if (needs === undefined) return [];
  if (!Array.isArray(needs) || needs.length > NEEDS_MAX)
    throw new ConfigError("needs", `${where}: needs must be a list of at most ${NEEDS_MAX} providers, like [gemini].`);
  return needs.map((one) => chainOf(one, `${where}.needs`));
}
