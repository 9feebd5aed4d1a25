// The page of a signed link: one question, two buttons, and nothing of the rest of the dashboard. Opening it answers nothing.
import { useEffect, useState } from "preact/hooks";
import { type Answer, asHolder, type Problem } from "../../data/api";
import type { Question } from "../../data/contract";
import { Icon, Mark } from "../../parts/icon";
import { Json } from "../../parts/json";
import { Failed, Loading, Notice } from "../../parts/states";
import { Ago, Since } from "../../parts/time";
import { splitQuestion } from "./question";

const CAME: Readonly<Record<string, string>> = {
  sent: "Your answer was sent. The job goes on.",
  known: "It was answered already. The first answer counts.",
  late: "The job does not wait for this answer any more.",
  ended: "The job has ended. It waits for no answer any more.",
};

export function AnswerPage({ token }: { token: string }) {
  const [answer, setAnswer] = useState<Answer<Question> | null>(null);
  const load = async () => setAnswer(await asHolder<Question>(token, "answer"));
  useEffect(() => {
    document.title = "A question · Fairmill";
    load();
  }, []);
  return (
    <main class="sign-in" data-screen={`answer/${token}`}>
      <div class="panel answer-page">
        <span class="brand">
          <Mark /> Fairmill
        </span>
        {answer === null ? (
          <Loading rows={4} />
        ) : answer.ok ? (
          <Asked question={answer.value} token={token} />
        ) : (
          <Refused problem={answer.problem} retry={load} />
        )}
      </div>
    </main>
  );
}

const Refused = ({ problem, retry }: { problem: Problem; retry: () => void }) =>
  problem.status === 401 ? (
    <>
      <h1>This link is not valid</h1>
      <p class="muted">Its time is over, or it was not copied as a whole. Ask for a new one.</p>
    </>
  ) : (
    <>
      <h1>A question</h1>
      <Failed problem={problem} retry={retry} />
    </>
  );

function Asked({ question, token }: { question: Question; token: string }) {
  const [came, setCame] = useState<string | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [comment, setComment] = useState("");
  const [busy, setBusy] = useState(false);
  const [words, rest] = splitQuestion(question.question);
  const say = async (approved: boolean) => {
    setBusy(true);
    setProblem(null);
    const said = comment.trim();
    const answer = await asHolder<{ answer: string }>(token, "answer", {
      approved,
      ...(said !== "" && { comment: said }),
    });
    setBusy(false);
    if (answer.ok) setCame(CAME[answer.value.answer] ?? answer.value.answer);
    else setProblem(answer.problem);
  };
  if (question.state === "over")
    return (
      <>
        <h1>This question is over</h1>
        <p class="muted">{CAME["late"]}</p>
      </>
    );
  return (
    <>
      <h1 class="wrap">{words ?? `Approve ${question.name}?`}</h1>
      <p class="quiet small wrap">
        {question.kind}, job <span class="mono">{question.jobId}</span>, for {question.tenant}
        {question.since && (
          <>
            , asked <Since at={question.since} /> ago
          </>
        )}
      </p>
      {rest !== null && rest !== undefined && <Json value={rest} label="What the job said" />}
      {came !== null || question.state === "answered" ? (
        <div role="status">
          <Notice icon="check" tone="done">
            {came ?? CAME["known"]}
          </Notice>
        </div>
      ) : (
        <>
          <label class="field">
            Comment (optional)
            <input
              class="input"
              maxLength={1000}
              value={comment}
              onInput={(event) => setComment(event.currentTarget.value)}
            />
          </label>
          {problem && <Failed problem={problem} retry={() => setProblem(null)} />}
          <div class="row wraps">
            <button type="button" class="button primary" disabled={busy} onClick={() => say(true)}>
              <Icon name="check" small /> Approve
            </button>
            <button type="button" class="button danger" disabled={busy} onClick={() => say(false)}>
              <Icon name="dead" small /> Refuse
            </button>
            <span class="quiet small push">
              {question.deadline ? (
                <>
                  deadline <Ago at={question.deadline} />
                </>
              ) : (
                <>
                  link ends <Ago at={question.expiresAt} />
                </>
              )}
            </span>
          </div>
        </>
      )}
    </>
  );
}
