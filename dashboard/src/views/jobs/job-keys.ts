// The list by keyboard: j and k move, Enter opens, x selects, r retries.

import { useRef, useState } from "preact/hooks";
import type { JobRow } from "../../data/contract";
import { segment } from "../../data/segment";
import { may } from "../../data/session";
import { act } from "../../parts/action";
import { go, link } from "../../shell/route";
import { useShortcuts } from "../../shell/shortcuts";
import { toggled } from "./job-table";

export function useJobKeys(
  rows: readonly JobRow[],
  select: (change: (before: ReadonlySet<string>) => ReadonlySet<string>) => void,
): string | null {
  const [cursor, setCursor] = useState<string | null>(null);
  // Keys may come faster than the page is drawn: they act on what is true, not on what is drawn.
  const at = useRef<string | null>(null);
  const move = (by: number) => {
    const from = rows.findIndex((row) => row.id === at.current);
    const next = rows[Math.max(0, Math.min(rows.length - 1, from < 0 ? 0 : from + by))];
    at.current = next?.id ?? null;
    setCursor(at.current);
    if (next) document.querySelector(`tr[data-row="${CSS.escape(next.id)}"]`)?.scrollIntoView({ block: "nearest" });
  };
  const onJob = (act: (id: string) => void) => () => {
    if (at.current !== null) act(at.current);
  };
  useShortcuts([
    { key: "j", does: "Next job", act: () => move(1) },
    { key: "k", does: "Previous job", act: () => move(-1) },
    { key: "Enter", does: "Open the job", act: onJob((id) => go(link(["jobs", id]))) },
    ...(may("operator")
      ? [
          { key: "x", does: "Select the job", act: onJob((id) => select((before) => toggled(before, id))) },
          {
            key: "r",
            does: "Retry the job",
            act: onJob((id) => {
              act<{ answer: string }>(
                "POST",
                `jobs/${segment(id)}/retry`,
                {},
                ({ answer }) => `Job ${id} is ${answer}`,
              );
            }),
          },
        ]
      : []),
  ]);
  return cursor;
}
