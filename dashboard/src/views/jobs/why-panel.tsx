// Why a job, node or message does not go on: every check on its way, in order, passed or blocking.
import type { Why } from "../../data/contract";
import type { Resource } from "../../data/resource";
import { Icon } from "../../parts/icon";
import { Loaded } from "../../parts/loaded";
import { Panel } from "../../parts/panel";
import { link } from "../../shell/route";
import { gateOf } from "../reasons";

export const WhyPanel = ({ why, title = "Why is it waiting?" }: { why: Resource<Why>; title?: string }) => (
  <Panel title={title}>
    <Loaded from={why} rows={5}>
      {(answer) => <WhyList why={answer} />}
    </Loaded>
  </Panel>
);

function WhyList({ why }: { why: Why }) {
  const blocking = why.gates.findIndex((gate) => !gate.passed);
  return (
    <div class="stack tight">
      <p class="why-reason wrap">{why.reason}</p>
      <ol class="why">
        {why.gates.map((gate, index) => {
          const [label, tone] = gateOf(gate.gate);
          return (
            <li
              key={`${gate.gate}${gate.reason}`}
              class={gate.passed ? "passed" : index === blocking ? "blocking" : "behind"}
            >
              <span class={`why-sign ${tone}`}>
                <Icon name={gate.passed ? "check" : "lock"} small />
              </span>
              <span class="why-name">{label}</span>
              <span class="wrap why-text">
                <span class="unseen">{gate.passed ? "Passed: " : "Blocking: "}</span>
                {gate.reason} <JobLinks detail={gate.detail} />
              </span>
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** Jobs that a check names, as links. */
function JobLinks({ detail }: { detail: Record<string, unknown> | null }) {
  const held = detail?.["heldBy"] ?? detail?.["jobs"];
  if (!Array.isArray(held)) return null;
  const ids = held
    .map((one) => (typeof one === "object" && one !== null ? (one as { id?: unknown }).id : one))
    .filter((id) => /^\d+$/.test(String(id)));
  return (
    <>
      {ids.slice(0, 8).map((id) => (
        <a key={String(id)} class="mono" href={link(["jobs", String(id)])}>
          {String(id)}{" "}
        </a>
      ))}
    </>
  );
}
