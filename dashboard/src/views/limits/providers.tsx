// Providers: the breaker as a strip over the last hour, in words and colour; latency and cost beside it.

import { linear } from "../../charts/scale";
import { useWidth } from "../../charts/width";
import type { ProviderRow } from "../../data/contract";
import { money, percent } from "../../format/numbers";
import { clock, duration } from "../../format/times";
import { StateBadge } from "../../parts/badge";
import { Ago } from "../../parts/time";

const TONES = { closed: "f-done", half: "f-blocked", open: "f-dead" } as const;
const WORDS = { closed: "closed", half: "half open", open: "open" } as const;
const BADGES = { closed: "closed", half: "half_open", open: "failed" } as const;

export const Providers = ({ rows }: { rows: readonly ProviderRow[] }) => (
  <ul class="providers">
    {rows.map((row) => (
      <li key={row.provider}>
        <div class="row spread">
          <strong class="clip">{row.provider}</strong>
          <StateBadge state={BADGES[row.breaker] ?? "closed"} label={WORDS[row.breaker] ?? row.breaker} />
        </div>
        <Strip row={row} />
        <dl class="provider-facts">
          <Fact name="p50">{duration(row.latencyP50Ms)}</Fact>
          <Fact name="p95">{duration(row.latencyP95Ms)}</Fact>
          <Fact name="errors">{percent(row.errorRate, 1)}</Fact>
          <Fact name="today">{row.costToday === null ? "–" : `${money(row.costToday)} ${row.currency ?? ""}`}</Fact>
        </dl>
        <p class="quiet small">
          {row.breaker === "open" && row.nextTryAt ? (
            <>
              open since <Ago at={row.since} />, next try <Ago at={row.nextTryAt} />
            </>
          ) : row.limitedUntil ? (
            <>
              asked to wait, free <Ago at={row.limitedUntil} />
            </>
          ) : row.breaker === "half" ? (
            "one call finds out whether it is back"
          ) : (
            "takes calls"
          )}
        </p>
      </li>
    ))}
  </ul>
);

const Fact = ({ name, children }: { name: string; children: preact.ComponentChildren }) => (
  <div>
    <dt class="quiet small">{name}</dt>
    <dd class="nowrap">{children}</dd>
  </div>
);

function Strip({ row }: { row: ProviderRow }) {
  const [frame, width] = useWidth(240);
  const from = Math.min(...row.strip.map((part) => part.from));
  const to = Math.max(...row.strip.map((part) => part.to));
  if (row.strip.length === 0) return <div ref={frame} />;
  const x = linear(from, to, 0, width);
  return (
    <div class="plot" ref={frame}>
      <svg
        width={width}
        height={16}
        role="img"
        aria-label={`Breaker: ${row.strip.map((part) => `${WORDS[part.state] ?? part.state} ${clock(part.from)} to ${clock(part.to)}`).join(", ")}`}
      >
        {row.strip.map((part) => {
          const high = part.state === "closed" ? 6 : part.state === "half" ? 11 : 16;
          return (
            <rect
              key={part.from}
              class={`bar ${TONES[part.state] ?? "c-quiet"}`}
              x={x(part.from)}
              y={16 - high}
              rx={1.5}
              width={Math.max(2, x(part.to) - x(part.from) - 1)}
              height={high}
            >
              <title>{`${WORDS[part.state] ?? part.state}: ${clock(part.from)}–${clock(part.to)}`}</title>
            </rect>
          );
        })}
      </svg>
    </div>
  );
}
