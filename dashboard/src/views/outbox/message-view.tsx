// One message: its attempts, the receiver's answer, and a verdict by a person where its fate is unknown.

import type { MessageDetail, Why } from "../../data/contract";
import { useResource } from "../../data/resource";
import { segment } from "../../data/segment";
import { Action } from "../../parts/action";
import { StateBadge } from "../../parts/badge";
import { cli } from "../../parts/copy";
import { Json } from "../../parts/json";
import { Loaded } from "../../parts/loaded";
import { Facts, Panel } from "../../parts/panel";
import { Notice } from "../../parts/states";
import { Clip, Table } from "../../parts/table";
import { Ago } from "../../parts/time";
import { Page } from "../../shell/page";
import { link } from "../../shell/route";
import { WhyPanel } from "../jobs/why-panel";
import { messageState } from "./outbox-view";

export function MessageView({ id }: { id: string }) {
  const path = `outbox/${segment(id)}`;
  const one = useResource<MessageDetail>(path, ["outbox"]);
  const open = one.data !== undefined && one.data.endedAt === null;
  const why = useResource<Why>(open ? `${path}/why` : null, ["outbox", "limits"]);
  return (
    <Page
      title={`Message ${id}`}
      heading={
        <span class="row wraps">
          <span>
            Message <span class="mono">{id}</span>
          </span>
          {one.data && <StateBadge state={messageState(one.data.status)} label={one.data.status} />}
        </span>
      }
      about={one.data && `to ${one.data.channel}, for ${one.data.tenant}`}
      json={path}
      cli={cli(["outbox", "get", id])}
      back={{ href: "#/outbox", name: "Outbox" }}
      actions={
        one.data &&
        one.data.status !== "pending" &&
        one.data.status !== "sending" && <Verdicts message={one.data} path={path} />
      }
    >
      <Loaded from={one}>
        {(message) => (
          <>
            {message.status === "unknown" && (
              <Notice tone="blocked" icon="help">
                It may have arrived or not: the connection broke after the first byte. Look at the receiver, then say
                what is true. Nothing is sent twice before that.
              </Notice>
            )}
            <div class="grid wide-left">
              <div class="stack">
                {open && <WhyPanel why={why} title="Why is it not sent yet?" />}
                <Panel title="Attempts" flush>
                  <Table
                    label="Attempts"
                    rows={message.attempts.map((attempt, index) => ({ ...attempt, index }))}
                    keyOf={(attempt) => String(attempt.index)}
                    columns={[
                      { name: "When", cell: (attempt) => <Ago at={attempt.at} /> },
                      {
                        name: "Outcome",
                        cell: (attempt) => (
                          <StateBadge
                            state={
                              attempt.outcome === "sent"
                                ? "sent"
                                : attempt.outcome === "uncertain"
                                  ? "uncertain"
                                  : attempt.outcome === "refused"
                                    ? "failed"
                                    : (attempt.outcome ?? "sending")
                            }
                            label={attempt.outcome === "uncertain" ? "uncertain" : (attempt.outcome ?? "sending")}
                          />
                        ),
                      },
                      { name: "By", cell: (attempt) => <Clip text={attempt.by ?? attempt.worker} /> },
                      {
                        name: "Said",
                        rest: true,
                        cell: (attempt) => (
                          <span class="wrap">{attempt.error?.message ?? attempt.reason ?? attempt.as ?? ""}</span>
                        ),
                      },
                    ]}
                  />
                </Panel>
                {message.answer !== null && (
                  <Panel title="The receiver's answer">
                    <Json value={message.answer} label="Answer" />
                  </Panel>
                )}
                <Panel title="Payload">
                  <Json value={message.payload} label="Payload" />
                </Panel>
              </div>
              <Panel title="Facts">
                <Facts
                  facts={[
                    ["Channel", message.channel],
                    ["Tenant", message.tenant],
                    ["Idempotency key", message.idempotencyKey],
                    ...(message.orderKey !== null ? ([["Order key", message.orderKey]] as const) : []),
                    ["Published", <Ago key="c" at={message.createdAt} />],
                    ...(message.nextAttemptAt
                      ? ([["Next attempt", <Ago key="n" at={message.nextAttemptAt} />]] as const)
                      : []),
                    ...(message.jobId !== null
                      ? ([
                          [
                            "Delivery job",
                            <a key="j" class="mono" href={link(["jobs", message.jobId])}>
                              {message.jobId}
                            </a>,
                          ],
                        ] as const)
                      : []),
                  ]}
                />
              </Panel>
            </div>
          </>
        )}
      </Loaded>
    </Page>
  );
}

const Verdicts = ({ message, path }: { message: MessageDetail; path: string }) => (
  <>
    {message.status === "unknown" && (
      <>
        <Action
          label="It arrived"
          icon="check"
          path={`${path}/resolve`}
          body={{ verdict: "sent" }}
          confirm="The message counts as sent. It will not be sent again."
        />
        <Action
          label="It did not arrive"
          icon="dead"
          path={`${path}/resolve`}
          body={{ verdict: "failed" }}
          confirm="The message counts as failed. It will not be sent again."
        />
      </>
    )}
    <Action
      label="Send again"
      icon="retry"
      kind="primary"
      path={`${path}/resolve`}
      body={{ verdict: "resend" }}
      confirm="The receiver gets the message again, with the same idempotency key."
    />
  </>
);
