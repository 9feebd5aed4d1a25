// Approvals: jobs that wait for an answer. The question is what the job said; the answer is a signal.

import { useState } from "preact/hooks";
import { now } from "../../data/clock";
import type { Approval, Page as PageOf } from "../../data/contract";
import { useResource } from "../../data/resource";
import { segment } from "../../data/segment";
import { may } from "../../data/session";
import { timeOf } from "../../format/times";
import { Action, act } from "../../parts/action";
import { Badge } from "../../parts/badge";
import { copyText } from "../../parts/copy";
import { apiQuery } from "../../parts/filters";
import { Icon } from "../../parts/icon";
import { Json } from "../../parts/json";
import { Loaded } from "../../parts/loaded";
import { ListNotice, Pager } from "../../parts/pager";
import { Panel } from "../../parts/panel";
import { Empty } from "../../parts/states";
import { Ago, Since } from "../../parts/time";
import { Page } from "../../shell/page";
import { link } from "../../shell/route";
import { splitQuestion } from "./question";

export function ApprovalsView() {
  const path = `approvals${apiQuery(["tenant"])}`;
  const list = useResource<PageOf<Approval>>(path, ["jobs"]);
  return (
    <Page
      title="Approvals"
      json={path}
      cli="fairmill jobs --state scheduled"
      about="Jobs that stopped to ask. They hold no worker while they wait."
    >
      <Loaded from={list}>
        {(page) => (
          <>
            <ListNotice notice={page.notice} />
            {page.items.length === 0 ? (
              <Panel>
                <Empty icon="approvals" title="No job waits for an answer">
                  A handler stops and asks: <code>await ctx.waitFor("approval")</code>
                </Empty>
              </Panel>
            ) : (
              <ul class="approvals">
                {page.items.map((approval) => (
                  <Question key={`${approval.jobId}${approval.name}`} approval={approval} />
                ))}
              </ul>
            )}
            <Pager next={page.next} shown={page.items.length} name="questions" />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Question({ approval }: { approval: Approval }) {
  const [words, rest] = splitQuestion(approval.question);
  const path = `jobs/${segment(approval.jobId)}`;
  const soon = approval.deadline !== null && timeOf(approval.deadline) - now.value < 3_600_000;
  const done = ({ answer }: { answer?: string }) =>
    answer === "sent" ? "The answer was sent" : `The answer came ${answer}`;
  return (
    <li class="panel approval">
      <div class="row wraps">
        <Badge tone="scheduled" icon="approvals">
          {approval.name}
        </Badge>
        <a href={link(["jobs", approval.jobId])}>
          {approval.kind} <span class="mono">{approval.jobId}</span>
        </a>
        <span class={`small push nowrap ${soon ? "c-dead" : "quiet"}`}>
          {approval.deadline ? (
            <>
              deadline <Ago at={approval.deadline} />
            </>
          ) : (
            "no deadline"
          )}
        </span>
      </div>
      <p class="quiet small wrap">
        {approval.tenant}, asked <Since at={approval.since} /> ago
      </p>
      <p class="approval-question wrap">{words ?? `Waits for the signal ${approval.name}`}</p>
      {rest !== null && rest !== undefined && <Json value={rest} label="What the job said" />}
      <div class="row wraps">
        <Action
          label="Approve"
          icon="check"
          kind="primary"
          path={`${path}/signal`}
          body={{ name: approval.name, value: { approved: true } }}
          done={done}
        />
        <Action
          label="Refuse"
          icon="dead"
          kind="danger"
          path={`${path}/signal`}
          body={{ name: approval.name, value: { approved: false } }}
          confirm="The job goes on with the answer no."
          done={done}
        />
        {may("operator") && <OtherAnswer name={approval.name} path={path} />}
        {may("operator") && <SignedLink path={path} name={approval.name} />}
      </div>
    </li>
  );
}

function OtherAnswer({ name, path }: { name: string; path: string }) {
  const [open, setOpen] = useState(false);
  const [text, setText] = useState("");
  if (!open)
    return (
      <button type="button" class="button ghost" onClick={() => setOpen(true)}>
        Other answer
      </button>
    );
  const answer = (event: Event) => {
    event.preventDefault();
    let value: unknown = text;
    try {
      value = JSON.parse(text);
    } catch {
      // What is no JSON is a text.
    }
    act<{ answer: string }>("POST", `${path}/signal`, { name, value }, ({ answer: came }) => `The answer was ${came}`);
  };
  return (
    <form class="row" onSubmit={answer}>
      <input
        class="input"
        aria-label="Answer, as JSON or text"
        placeholder="JSON or text"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit" class="button">
        Send
      </button>
    </form>
  );
}

/** For a person without a credential: it shows this question, takes one answer to it, and may nothing else. */
const SignedLink = ({ path, name }: { path: string; name: string }) => (
  <button
    type="button"
    class="button ghost"
    title="For a person who cannot sign in: shows this question and takes one answer, for a day"
    onClick={async () => {
      const answer = await act<{ path: string }>(
        "POST",
        `${path}/answer-link`,
        { name, for: "24h" },
        () => "The holder of this link may answer this question, for a day",
      );
      if (answer.ok) copyText(new URL(answer.value.path, new URL(".", document.baseURI)).href);
    }}
  >
    <Icon name="copy" small /> Signed link
  </button>
);
