// The next five runs of an expression that is not saved yet, as the server computes them by the clock of the database.
import { useEffect, useState } from "preact/hooks";
import { getJson } from "../../data/api";
import type { NextRuns } from "../../data/contract";
import { cronWords, inZone } from "./cron-words";

/** Typing is not asked about letter by letter. */
const QUIET_MS = 250;

export function NextRunsPreview({ cron, timezone }: { cron: string; timezone: string }) {
  const [seen, setSeen] = useState<{ runs?: readonly string[]; fault?: string }>({});
  useEffect(() => {
    if (cron.trim() === "" || timezone.trim() === "") return setSeen({});
    let isOver = false;
    const timer = setTimeout(async () => {
      const answer = await getJson<NextRuns>(`next-runs?${new URLSearchParams({ cron, timezone })}`);
      if (isOver) return;
      setSeen(answer.ok ? { runs: answer.value.runs } : { fault: answer.problem.detail || answer.problem.title });
    }, QUIET_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [cron, timezone]);
  return (
    <div class="runs-preview" role="status">
      <strong>{cronWords(cron)}</strong>
      {seen.fault !== undefined ? (
        <p class="c-dead wrap">{seen.fault}</p>
      ) : (
        <ol aria-label="Next five runs">
          {(seen.runs ?? []).map((at) => (
            <li key={at}>{inZone(at, timezone)}</li>
          ))}
        </ol>
      )}
    </div>
  );
}
