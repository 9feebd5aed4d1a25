// Limits of a tenant, queue or kind: tried on the last hour, then set.

import { useState } from "preact/hooks";
import { send } from "../../data/api";
import type { Limits, Trial, TrialFigures } from "../../data/contract";
import { segment } from "../../data/segment";
import { count, percent } from "../../format/numbers";
import { duration } from "../../format/times";
import { act } from "../../parts/action";
import { Table } from "../../parts/table";

interface Draft {
  readonly weight: string;
  readonly maxRunning: string;
  readonly limit: string;
  readonly per: string;
}

const draftOf = (now: Limits, weight: number | undefined): Draft => ({
  weight: weight === undefined ? "" : String(weight),
  maxRunning: now.maxRunning === null ? "" : String(now.maxRunning),
  limit: now.rate === null ? "" : String(now.rate.limit),
  per: now.rate === null ? "1m" : periodOf(now.rate.perMs),
});

/** As the server reads it: 1m, 1h, or milliseconds. */
const periodOf = (ms: number): string => {
  for (const [unit, size] of [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1000],
  ] as const)
    if (ms % size === 0) return `${ms / size}${unit}`;
  return String(ms);
};

/** An empty field takes the limit away. */
function bodyOf(draft: Draft, now: Limits, hasWeight: boolean): Record<string, unknown> {
  const per = /^\d+$/.test(draft.per) ? Number(draft.per) : draft.per;
  return {
    ...(hasWeight ? { weight: Number(draft.weight) } : {}),
    maxRunning: draft.maxRunning === "" ? null : Number(draft.maxRunning),
    rate:
      draft.limit === ""
        ? null
        : { limit: Number(draft.limit), per, ...(now.rate ? { how: now.rate.how, at: now.rate.at } : {}) },
  };
}

export function LimitForm({
  scope,
  name,
  now,
  weight,
}: {
  scope: "tenant" | "queue" | "kind";
  name: string;
  now: Limits;
  weight?: number;
}) {
  const [draft, setDraft] = useState(draftOf(now, weight));
  const [trial, setTrial] = useState<Trial | string | null>(null);
  const set = (part: Partial<Draft>) => setDraft({ ...draft, ...part });
  const body = bodyOf(draft, now, weight !== undefined);
  const tryIt = async () => {
    const answer = await send<Trial>("POST", "limits/try", { scope, name, ...body });
    setTrial(
      answer.ok
        ? answer.value
        : answer.problem.status === 501
          ? "This server cannot replay the last hour: no interval records."
          : answer.problem.detail || "The server did not answer.",
    );
  };
  const save = async (event: Event) => {
    event.preventDefault();
    await act("PUT", `${scope}s/${segment(name)}`, body, () => `The limits of ${name} are set`);
    setTrial(null);
  };
  return (
    <form class="stack" onSubmit={save}>
      {weight !== undefined && (
        <NumberField
          label="Weight"
          value={draft.weight}
          min="0.01"
          max="1000"
          step="any"
          set={(text) => set({ weight: text })}
          required
        />
      )}
      <NumberField
        label="At most running at once (empty: no cap)"
        value={draft.maxRunning}
        min="1"
        set={(text) => set({ maxRunning: text })}
      />
      <div class="row">
        <NumberField label="Rate (empty: none)" value={draft.limit} min="1" set={(text) => set({ limit: text })} />
        <label class="field">
          per
          <input class="input" value={draft.per} onInput={(event) => set({ per: event.currentTarget.value })} />
        </label>
      </div>
      {trial && <TrialResult trial={trial} />}
      <div class="row">
        <button type="button" class="button" onClick={tryIt}>
          Try on the last hour
        </button>
        <button type="submit" class="button primary push">
          Set
        </button>
      </div>
    </form>
  );
}

const NumberField = ({
  label,
  value,
  set,
  ...rest
}: {
  label: string;
  value: string;
  set: (text: string) => void;
  min?: string;
  max?: string;
  step?: string;
  required?: boolean;
}) => (
  <label class="field grow">
    {label}
    <input class="input" type="number" value={value} {...rest} onInput={(event) => set(event.currentTarget.value)} />
  </label>
);

const FIGURES: readonly (readonly [name: keyof TrialFigures, label: string, write: (value: number) => string])[] = [
  ["starts", "Started", (value) => count(value)],
  ["delayed", "Started later", (value) => count(value)],
  ["delayMeanMs", "Later on average", duration],
  ["delayMaxMs", "Later at most", duration],
  ["notStarted", "Not within the hour", (value) => count(value)],
  ["mostAtOnce", "Most at once", (value) => count(value)],
  ["shareEntitled", "Entitled share", percent],
];

function TrialResult({ trial }: { trial: Trial | string }) {
  if (typeof trial === "string") return <p class="muted">{trial}</p>;
  const cell = (figures: TrialFigures, [name, , write]: (typeof FIGURES)[number]) =>
    figures[name] === null ? "–" : write(figures[name]);
  return (
    <div class="stack tight">
      <p class="wrap">{trial.message}</p>
      <Table
        label="Before and after"
        rows={FIGURES.filter(([name]) => trial.after[name] !== null)}
        keyOf={([name]) => name}
        columns={[
          { name: "Last hour", cell: ([, label]) => label },
          { name: "As it was", num: true, cell: (figure) => cell(trial.before, figure) },
          { name: "As it would be", num: true, cell: (figure) => cell(trial.after, figure) },
        ]}
      />
      <p class="quiet small wrap">{trial.basis.note}</p>
    </div>
  );
}
