// How much of the past the charts show; in the address, so that a link shows the same.

import { now } from "../data/clock";
import { segment } from "../data/segment";
import { route, withQuery } from "../shell/route";

const SPANS = { "5m": 300_000, "1h": 3_600_000, "6h": 21_600_000, "24h": 86_400_000, "7d": 604_800_000 } as const;
type Span = keyof typeof SPANS;

/** `query` begins with & and is empty for the server's own default; since moves by whole minutes, so that answers can be kept. */
export function useSpan(): { readonly name: Span; readonly query: string; readonly hours: number } {
  const wanted = route.value.query.get("span") as Span | null;
  const name: Span = wanted !== null && Object.hasOwn(SPANS, wanted) ? wanted : "1h";
  if (name === "1h") return { name, query: "", hours: 1 };
  const since = new Date(Math.floor((now.value - SPANS[name]) / MOVES_MS) * MOVES_MS).toISOString();
  return { name, query: `&since=${segment(since)}`, hours: SPANS[name] / 3_600_000 };
}

const MOVES_MS = 60_000;

export const SpanChoice = () => {
  const { name } = useSpan();
  return (
    <nav class="tabs" aria-label="Span of time">
      {(Object.keys(SPANS) as Span[]).map((span) => (
        <a
          key={span}
          href={withQuery({ span: span === "1h" ? null : span })}
          aria-current={span === name ? "true" : undefined}
        >
          {span}
        </a>
      ))}
    </nav>
  );
};
