// Limits: what they cost where they hold no job back, what a tenant at its cap costs the others, and whether rates and shares hold.
import { measure as capped } from "./limits/capped.mjs";
import { measure as drain } from "./limits/drain.mjs";
import { measure as rate } from "./limits/rate.mjs";
import { measure as shares } from "./limits/shares.mjs";

export async function measure(bench) {
  const parts = [];
  for (const one of [drain, capped, rate, shares]) parts.push(await one(bench));
  return {
    tables: parts.map(({ table }) => table),
    problems: parts.flatMap(({ problems = [] }) => problems),
    samples: parts.map(({ table, samples }) => ({ label: table.title, samples })),
  };
}
