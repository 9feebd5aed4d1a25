// Marks on charts over time: when another version of the application came.
import type { Session } from "../db/session.js";
import type { Scope, Span } from "./readers.js";
import { readDeployments } from "./view-statements.js";

/** What runs the jobs is the fleet's, not a tenant's. */
export async function marksIn(view: Session, { sinceMs, untilMs }: Span, { tenant }: Scope) {
  if (tenant !== undefined) return [];
  const found = await readDeployments(view, new Date(sinceMs), new Date(untilMs));
  return found.map(({ name, atMs, workers }) => ({ at: atMs, kind: "deploy", label: name, detail: { workers } }));
}
