// Says at the start of a worker what providers its kinds need: before the first claim, so that it obeys.
import type { JobDefinition } from "../core/job/job-definition.js";
import type { Session } from "../db/session.js";
import type { Provider, ProviderSettings } from "./provider.js";
import { defineProviders } from "./provider-statements.js";

/** Of kinds that need nothing, whatever was said before is taken away. */
export async function tellProviders(db: Session, definitions: readonly JobDefinition[]): Promise<void> {
  const providers = new Map<string, ProviderSettings>();
  const needs: Record<string, readonly (readonly string[])[] | null> = {};
  for (const { kind, needs: chains } of definitions) {
    needs[kind] = chains.length === 0 ? null : chains.map((chain) => chain.map(({ name }) => name));
    for (const provider of chains.flat()) providers.set(provider.name, (provider as Provider).settings);
  }
  await defineProviders(db, [...providers.values()], needs);
}
