// How much of the past the charts show; in the address, so that a link shows the same.

import { now } from "../data/clock";
import { segment } from "../data/segment";
import { route, withQuery } from "../shell/route";

const SPANS = {
  "5m": 300_000,
  "1h": 3_600_000,
  "6h": 21_600_000,
  "24h": 86_400_000,
  "7d": 604_800_000,
} as const;
type Span = keyof typeof SPANS;

/** The server's own: an hour, or all that there is where that is less. */
const USUAL = "auto";
const USUAL_TITLE = "The last hour; of a younger fleet, all since its first record";

/** `query` begins with & and is empty for the usual span; since moves by whole minutes, so that answers can be kept. */
export function useSpan(): { readonly name: Span | typeof USUAL; readonly query: string } {
  const wanted = route.value.query.get("span") as Span | null;
  if (wanted === null || !Object.hasOwn(SPANS, wanted)) return { name: USUAL, query: "" };
  const since = new Date(Math.floor((now.value - SPANS[wanted]) / MOVES_MS) * MOVES_MS).toISOString();
  return { name: wanted, query: `&since=${segment(since)}` };
}

const MOVES_MS = 60_000;

export const SpanChoice = () => {
  const { name } = useSpan();
  const choices = [USUAL, ...(Object.keys(SPANS) as Span[])] as const;
  return (
    <nav class="tabs" aria-label="Span of time">
      {choices.map((span) => (
        <a
          key={span}
          href={withQuery({ span: span === USUAL ? null : span })}
          aria-current={span === name ? "true" : undefined}
          title={span === USUAL ? USUAL_TITLE : undefined}
        >
          {span}
        </a>
      ))}
    </nav>
  );
};
