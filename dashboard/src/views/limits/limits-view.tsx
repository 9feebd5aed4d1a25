// Limits & providers: how full each limit is, when it lets the next one through, and how the providers behind it are.
import { now } from "../../data/clock";
import type { LimitGauge, Page as PageOf, ProviderRow } from "../../data/contract";
import { useResource } from "../../data/resource";
import { count, percent } from "../../format/numbers";
import { duration, timeOf } from "../../format/times";
import { Badge } from "../../parts/badge";
import { apiQuery, Choice } from "../../parts/filters";
import { Loaded } from "../../parts/loaded";
import { Meter, Panel } from "../../parts/panel";
import { PausedBadge } from "../../parts/pause";
import { Empty } from "../../parts/states";
import { Clip } from "../../parts/table";
import { Ago } from "../../parts/time";
import { Page } from "../../shell/page";
import { link } from "../../shell/route";
import { rateWords } from "../limit-words";
import { Listing } from "../listing";
import { NamedLimits } from "./named-limits";
import { Providers } from "./providers";

export function LimitsView() {
  const path = `limits${apiQuery(["scope"])}`;
  const limits = useResource<PageOf<LimitGauge>>(path, ["limits", "jobs"]);
  const providers = useResource<{ items: ProviderRow[] }>("providers", ["series", "limits"]);
  return (
    <Page
      title="Limits & providers"
      json={path}
      cli="fairmill tenants"
      about="Every cap and rate that holds jobs back, and the providers they protect."
    >
      <Panel title="Providers" note="the last hour: latency, breaker, cost">
        <Loaded from={providers} rows={4} unrecorded="This server does not read what providers do.">
          {(answer) =>
            answer.items.length === 0 ? (
              <Empty icon="limits" title="No provider was called">
                Calls of the services outside stand here with their breaker, latency and cost:{" "}
                <code>ctx.call(provider, …)</code>
              </Empty>
            ) : (
              <Providers rows={answer.items} />
            )
          }
        </Loaded>
      </Panel>
      <Listing
        from={limits}
        title="Limits"
        name="limits"
        filters={["scope"]}
        tools={<Choice name="scope" label="Scope" values={["tenant", "queue", "kind"]} />}
        keyOf={(row) => `${row.scope}:${row.name}`}
        empty={
          <Empty icon="limits" title="Nothing is limited">
            Set one: <code>fairmill tenants set acme --max-running 20 --rate 100/1m</code>
          </Empty>
        }
        columns={[
          {
            name: "Of",
            cell: (row) => (
              <span class="row">
                <span class="quiet small scope">{row.scope}</span>
                <Clip text={row.name} href={link(row.scope === "tenant" ? ["tenants", row.name] : ["queues"])} />
              </span>
            ),
          },
          { name: "Running", cell: (row) => <CapGauge row={row} /> },
          { name: "Rate", cell: (row) => <RateGauge row={row} /> },
          { name: "Next free", cell: (row) => <NextFree row={row} /> },
        ]}
      />
      <NamedLimits />
    </Page>
  );
}

const toneAt = (share: number): string => (share >= 1 ? "blocked" : "running");

function CapGauge({ row }: { row: LimitGauge }) {
  if (row.maxRunning === null) return <span class="quiet">no cap</span>;
  if (row.running === null) return <span class="num">at most {count(row.maxRunning)}</span>;
  const share = row.running / row.maxRunning;
  return (
    <span class="row gauge">
      <Meter share={share} tone={toneAt(share)} label={`${row.running} of ${row.maxRunning} run`} />
      <span class="num">
        {count(row.running)} / {count(row.maxRunning)}
      </span>
      {share >= 1 && (
        <Badge tone="blocked" icon="lock">
          full
        </Badge>
      )}
    </span>
  );
}

function RateGauge({ row }: { row: LimitGauge }) {
  if (row.rate === null) return <span class="quiet">no rate</span>;
  const share = (row.spent ?? 0) / row.rate.limit;
  return (
    <span class="row gauge">
      {row.spent !== null && <Meter share={share} tone={toneAt(share)} label={`${percent(share)} of the rate spent`} />}
      <span class="num">
        {row.spent !== null && `${count(row.spent)} of `}
        {rateWords(row.rate)}
      </span>
    </span>
  );
}

function NextFree({ row }: { row: LimitGauge }) {
  if (row.pausedAt)
    return (
      <span class="row">
        <PausedBadge of={row} /> {!row.pausedUntil && <Ago at={row.pausedAt} />}
      </span>
    );
  const wait = row.nextFreeAt ? timeOf(row.nextFreeAt) - now.value : 0;
  return wait > 0 ? (
    <>in {duration(wait)}</>
  ) : row.maxRunning !== null && row.running !== null && row.running >= row.maxRunning ? (
    <>when one ends</>
  ) : (
    <span class="quiet">now</span>
  );
}
