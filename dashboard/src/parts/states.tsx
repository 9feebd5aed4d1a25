// What a place shows that has no data: loading, empty, failed, stale.
import type { ComponentChildren } from "preact";
import type { Problem } from "../data/api";
import { Icon, type IconName } from "./icon";

/** Bones in the shape of what is coming, so that nothing jumps when it arrives. */
export const Loading = ({ rows = 6 }: { rows?: number }) => (
  <div class="stack tight" role="status" aria-label="Loading">
    {Array.from({ length: rows }, (_, row) => (
      <span key={row} class="bone" style={{ height: "20px", width: `${100 - ((row * 17) % 40)}%` }} />
    ))}
  </div>
);

export const Empty = ({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <Icon name={icon} />
    <strong>{title}</strong>
    {children && <p>{children}</p>}
  </div>
);

export function Failed({ problem, retry }: { problem: Problem; retry: () => void }) {
  const [title, advice] = explain(problem);
  return (
    <div class="notice tone-dead" role="alert">
      <Icon name="errors" />
      <div class="wrap">
        <strong>{title}</strong>
        <div class="muted">
          {problem.detail || advice} {problem.code && <code>{problem.code}</code>}
        </div>
      </div>
      <button type="button" class="button little push" onClick={retry}>
        <Icon name="retry" small /> Try again
      </button>
    </div>
  );
}

function explain(problem: Problem): readonly [string, string] {
  if (problem.status === 0) return ["The server cannot be reached", "Is it running? What you see may be old."];
  if (problem.status === 401) return ["Sign in again", "The server does not know this session any more."];
  if (problem.status === 403)
    return ["Your role may not see this", "Ask for the role that it needs, or for the tenant."];
  if (problem.status === 404)
    return ["Not found", "It never existed, was removed by retention, or belongs to another tenant."];
  if (problem.status === 429) return ["Too many requests", "Wait a moment."];
  return [problem.title || "The server failed", "The log of the server says more."];
}

export const Notice = ({ tone, icon, children }: { tone?: string; icon: IconName; children: ComponentChildren }) => (
  <div class={`notice${tone ? ` tone-${tone}` : ""}`}>
    <Icon name={icon} />
    <div class="wrap">{children}</div>
  </div>
);
