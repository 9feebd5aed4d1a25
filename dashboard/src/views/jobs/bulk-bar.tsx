// From a selection, or a filter, to an action on many: first a preview with a count, then a tracked object that any process carries on.
import { useState } from "preact/hooks";
import type { Problem } from "../../data/api";
import { send } from "../../data/api";
import type { BulkAction, BulkPreview } from "../../data/contract";
import { count } from "../../format/numbers";
import { act } from "../../parts/action";
import { StateBadge } from "../../parts/badge";
import { CountOf } from "../../parts/counts";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { Failed, Loading } from "../../parts/states";
import { go, link } from "../../shell/route";
import { bulkFilter, type ChosenFilter } from "./job-filter";

const ACTIONS = [
  ["retry", "Retry", "retry"],
  ["rerun", "Run again as new", "plus"],
  ["cancel", "Cancel", "slash"],
] as const;
type Name = (typeof ACTIONS)[number][0];

export function BulkBar({
  filter,
  selected,
  clear,
}: {
  filter: ChosenFilter;
  selected: ReadonlySet<string>;
  clear: () => void;
}) {
  const [asked, setAsked] = useState<{ action: Name; filter: Record<string, unknown> } | null>(null);
  const hasFilter = Object.keys(filter).length > 0;
  if (selected.size === 0 && !hasFilter) return null;
  const what = selected.size > 0 ? { ids: [...selected] } : bulkFilter(filter);
  return (
    <section class="bulk-bar" aria-label="Act on many">
      <strong>{selected.size > 0 ? `${count(selected.size)} selected` : "All that match"}</strong>
      {ACTIONS.map(([action, label, icon]) => (
        <button
          key={action}
          type="button"
          class={`button little ${action === "cancel" ? "danger" : ""}`}
          onClick={() => setAsked({ action, filter: what })}
        >
          <Icon name={icon} small /> {label} …
        </button>
      ))}
      {selected.size > 0 && (
        <button type="button" class="button ghost little push" onClick={clear}>
          Clear selection
        </button>
      )}
      {asked && <PreviewDialog {...asked} close={() => setAsked(null)} done={clear} />}
    </section>
  );
}

export function PreviewDialog(props: {
  action: Name | "redrive";
  filter: Record<string, unknown>;
  close: () => void;
  done?: () => void;
}) {
  const [preview, setPreview] = useState<BulkPreview | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [asked, setAsked] = useState(false);
  const [reason, setReason] = useState("");
  const load = async () => {
    setProblem(null);
    const answer = await send<BulkPreview>("POST", "bulk/preview", { action: props.action, filter: props.filter });
    if (answer.ok) setPreview(answer.value);
    else setProblem(answer.problem);
  };
  if (!asked) {
    setAsked(true);
    load();
  }
  const begin = async () => {
    const body = { action: props.action, filter: props.filter, ...(reason.trim() ? { reason: reason.trim() } : {}) };
    const answer = await act<BulkAction>("POST", "bulk", body, () => `Bulk ${props.action} has begun`);
    if (!answer.ok) return;
    props.close();
    props.done?.();
    go(link(["bulk", answer.value.id]));
  };
  return (
    <Dialog label={`Preview: ${props.action}`} close={props.close}>
      <div class="dialog-body">
        <h2>
          {props.action} {preview ? <CountOf of={preview.count} /> : "…"} jobs
        </h2>
        {problem && <Failed problem={problem} retry={load} />}
        {!preview && !problem && <Loading rows={4} />}
        {preview && <Groups preview={preview} />}
        <label class="field">
          Why (kept in the audit)
          <input
            class="input"
            value={reason}
            maxLength={500}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </label>
        <footer>
          <button type="button" class="button" onClick={props.close}>
            Keep as they are
          </button>
          <button
            type="button"
            class={`button ${props.action === "cancel" ? "danger" : "primary"}`}
            disabled={!preview || preview.count.count === 0}
            onClick={begin}
          >
            Begin
          </button>
        </footer>
      </div>
    </Dialog>
  );
}

const Groups = ({ preview }: { preview: BulkPreview }) =>
  preview.groups.length === 0 ? (
    <p class="muted">No job in a state that this action changes matches.</p>
  ) : (
    <ul class="stack tight">
      {preview.groups.slice(0, 8).map((group) => (
        <li key={`${group.state}${group.kind}${group.errorCode}`} class="row">
          <StateBadge state={group.state} />
          <span class="clip">{group.kind}</span>
          {group.errorCode && <code class="clip">{group.errorCode}</code>}
          <span class="num push">{count(group.count)}</span>
        </li>
      ))}
    </ul>
  );
