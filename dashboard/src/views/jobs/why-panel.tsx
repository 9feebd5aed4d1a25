// Why a job, node or message does not go on: every check on its way, in order, passed or blocking.
import type { Why } from "../../data/contract";
import type { Resource } from "../../data/resource";
import { Icon } from "../../parts/icon";
import { Loaded } from "../../parts/loaded";
import { Panel } from "../../parts/panel";
import { Sentence } from "../../parts/time";
import { link } from "../../shell/route";
import { checkOf } from "../reasons";

export const WhyPanel = ({ why, title = "Why is it waiting?" }: { why: Resource<Why>; title?: string }) => (
  <Panel title={title}>
    <Loaded from={why} rows={5}>
      {(answer) => <WhyList why={answer} />}
    </Loaded>
  </Panel>
);

function WhyList({ why }: { why: Why }) {
  const blocking = why.checks.findIndex((check) => !check.passed);
  return (
    <div class="stack tight">
      <p class="why-reason wrap">
        <Sentence text={why.reason} />
      </p>
      <ol class="why">
        {why.checks.map((check, index) => {
          const [label, tone] = checkOf(check.check);
          return (
            <li
              key={`${check.check}${check.reason}`}
              class={check.passed ? "passed" : index === blocking ? "blocking" : "behind"}
            >
              <span class={`why-sign ${tone}`}>
                <Icon name={check.passed ? "check" : "lock"} small />
              </span>
              <span class="why-name">{label}</span>
              <span class="wrap why-text">
                <span class="unseen">{check.passed ? "Passed: " : "Blocking: "}</span>
                <Sentence text={check.reason} /> <JobLinks detail={check.detail} />
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
  const holders = detail?.["heldBy"] ?? detail?.["jobs"];
  if (!Array.isArray(holders)) return null;
  const ids = holders
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
