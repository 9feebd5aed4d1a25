// Names for autocomplete: asked once, not counted.
import { useResource } from "../data/resource";

export interface Facets {
  readonly queues: readonly string[];
  readonly kinds: readonly string[];
  readonly tenants: readonly string[];
  readonly channels: readonly string[];
}

const NONE: Facets = { queues: [], kinds: [], tenants: [], channels: [] };
export const useFacets = (): Facets => useResource<Facets>("facets").data ?? NONE;
