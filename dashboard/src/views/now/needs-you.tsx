// What waits for a person, most urgent first.
import { useState } from "preact/hooks";
import type { Need } from "../../data/contract";
import { count } from "../../format/numbers";
import { Badge } from "../../parts/badge";
import { Icon } from "../../parts/icon";
import { Panel } from "../../parts/panel";
import { Ago, Sentence } from "../../parts/time";
import { link } from "../../shell/route";

const TONES = { critical: "dead", warning: "blocked", info: "ready" } as const;
const ICONS = { critical: "errors", warning: "errors", info: "help" } as const;

function hrefOf({ code, subject }: Need): string {
  if (code === "jobs_died") return link(["errors"]);
  if (code === "kind_without_workers") return link(["jobs"], { kind: subject.name, state: "ready" });
  if (code === "outbox_unknown") return link(["outbox"], { status: "unknown", channel: subject.name });
  const places: Record<Need["subject"]["type"], string> = {
    queue: link(["queues"]),
    kind: link(["queues"]),
    tenant: link(["tenants", subject.name]),
    channel: link(["outbox"], { channel: subject.name }),
    schedule: link(["schedules"]),
    worker: link(["workers"], { state: "lost" }),
    alert: link(["alerts"]),
    provider: link(["limits"]),
    jobs: link(["jobs"]),
  };
  return places[subject.type] ?? link(["now"]);
}

/** What an alert or the jobs of a day are called is in their message. */
const NAMED: readonly string[] = ["queue", "kind", "tenant", "channel", "schedule", "worker", "provider"];
/** More than these push everything else off the screen. */
const SHOWN = 5;

export function NeedsYou({ needs }: { needs: readonly Need[] }) {
  const [isWhole, setWhole] = useState(false);
  const rest = needs.length - SHOWN;
  if (needs.length === 0)
    return (
      <div class="notice tone-done">
        <Icon name="check" />
        <span>Nothing needs you. Queues have workers, no alert fires, no message needs review.</span>
      </div>
    );
  return (
    <Panel title="Needs you" note={`${count(needs.length)}, most urgent first`} flush>
      <ul class="needs">
        {(isWhole || rest <= 1 ? needs : needs.slice(0, SHOWN)).map((need) => (
          <li key={`${need.code}${need.subject.type}${need.subject.name}`}>
            <a href={hrefOf(need)}>
              <Badge tone={TONES[need.severity] ?? "ready"} icon={ICONS[need.severity] ?? "help"}>
                {need.severity}
              </Badge>
              <span class="wrap">
                {NAMED.includes(need.subject.type) && <strong>{need.subject.name}: </strong>}
                <Sentence text={need.message} />
              </span>
              <span class="push quiet small row">
                {need.since && <Ago at={need.since} />}
                <Icon name="right" small />
              </span>
            </a>
          </li>
        ))}
        {rest > 1 && (
          <li>
            <button type="button" class="more" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
              {isWhole ? "Show the most urgent" : `Show ${count(rest)} more`}
            </button>
          </li>
        )}
      </ul>
    </Panel>
  );
}
