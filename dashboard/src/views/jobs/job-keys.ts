// The list by keyboard: j and k move, Enter opens, x selects, r retries.

import { useState } from "preact/hooks";
import type { JobRow } from "../../data/contract";
import { segment } from "../../data/segment";
import { may } from "../../data/session";
import { act } from "../../parts/action";
import { go, link } from "../../shell/route";
import { useShortcuts } from "../../shell/shortcuts";
import { toggled } from "./job-table";

export function useJobKeys(
  rows: readonly JobRow[],
  selected: ReadonlySet<string>,
  select: (ids: ReadonlySet<string>) => void,
): string | null {
  const [cursor, setCursor] = useState<string | null>(null);
  const at = rows.findIndex((row) => row.id === cursor);
  const move = (by: number) => {
    const next = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
    setCursor(next?.id ?? null);
    if (next) document.querySelector(`tr[data-row="${CSS.escape(next.id)}"]`)?.scrollIntoView({ block: "nearest" });
  };
  useShortcuts([
    { key: "j", does: "Next job", act: () => move(1) },
    { key: "k", does: "Previous job", act: () => move(at < 0 ? 1 : -1) },
    { key: "Enter", does: "Open the job", act: () => cursor !== null && go(link(["jobs", cursor])) },
    ...(may("operator")
      ? [
          { key: "x", does: "Select the job", act: () => cursor !== null && select(toggled(selected, cursor)) },
          {
            key: "r",
            does: "Retry the job",
            act: () => {
              if (cursor === null) return;
              act<{ answer: string }>(
                "POST",
                `jobs/${segment(cursor)}/retry`,
                {},
                ({ answer }) => `Job ${cursor} is ${answer}`,
              );
            },
          },
        ]
      : []),
  ]);
  return cursor;
}
