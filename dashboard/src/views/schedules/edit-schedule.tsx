// A schedule edited: when, whose clocks, what becomes of missed ticks, its input, whether it is paused. Only what changed is sent.
import { useState } from "preact/hooks";
import type { ScheduleInput, ScheduleRow } from "../../data/contract";
import { useResource } from "../../data/resource";
import { segment } from "../../data/segment";
import { may } from "../../data/session";
import { act } from "../../parts/action";
import { Dialog } from "../../parts/dialog";
import { NextRunsPreview } from "./next-runs";

export function EditSchedule({ row }: { row: ScheduleRow }) {
  const [open, setOpen] = useState(false);
  if (!may("admin")) return null;
  return (
    <>
      <button type="button" class="button little" onClick={() => setOpen(true)}>
        Edit
      </button>
      {open && <EditDialog row={row} close={() => setOpen(false)} />}
    </>
  );
}

const missedText = (missed: ScheduleRow["missed"]): string =>
  typeof missed === "string" ? missed : String(missed.all);
const missedOf = (text: string): ScheduleRow["missed"] =>
  text === "skip" || text === "once" ? text : { all: Number(text) };

function EditDialog({ row, close }: { row: ScheduleRow; close: () => void }) {
  // As it was when the dialog was opened: the list behind it goes on.
  const [before] = useState(row);
  const path = `schedules/${segment(before.name)}`;
  const stored = useResource<ScheduleInput>(`${path}/input`, []).data;
  const was = stored === undefined ? undefined : JSON.stringify(stored.input, null, 2);
  const [draft, setDraft] = useState({
    cron: before.cron,
    timezone: before.timezone,
    missed: missedText(before.missed),
    paused: before.pausedAt !== null,
  });
  const [typed, setTyped] = useState<string | undefined>();
  const [fault, setFault] = useState("");
  const set = (part: Partial<typeof draft>) => setDraft({ ...draft, ...part });
  const save = async (event: Event) => {
    event.preventDefault();
    const body: Record<string, unknown> = {};
    if (draft.cron !== before.cron) body["cron"] = draft.cron;
    if (draft.timezone !== before.timezone) body["timezone"] = draft.timezone;
    if (draft.missed !== missedText(before.missed)) body["missed"] = missedOf(draft.missed);
    if (draft.paused !== (before.pausedAt !== null)) body["paused"] = draft.paused;
    if (typed !== undefined && typed !== was) {
      try {
        body["input"] = JSON.parse(typed) as unknown;
      } catch (error) {
        return setFault(`The input is not JSON: ${(error as Error).message}`);
      }
    }
    if (Object.keys(body).length === 0) return close();
    const change = { ...body, unchangedSince: before.updatedAt };
    const answer = await act<ScheduleRow>("POST", `${path}/change`, change, () => `${before.name} is changed`);
    if (answer.ok) close();
    else setFault(answer.problem.detail || answer.problem.title || "The server could not be reached.");
  };
  return (
    <Dialog label="Edit schedule" close={close}>
      <form class="dialog-body" onSubmit={save}>
        <h2>Edit {before.name}</h2>
        <div class="row">
          <label class="field grow">
            Cron
            <input
              class="input"
              required
              maxLength={500}
              value={draft.cron}
              onInput={(e) => set({ cron: e.currentTarget.value })}
            />
          </label>
          <label class="field grow">
            Time zone
            <input
              class="input"
              required
              maxLength={100}
              value={draft.timezone}
              onInput={(e) => set({ timezone: e.currentTarget.value })}
            />
          </label>
        </div>
        <NextRunsPreview cron={draft.cron} timezone={draft.timezone} />
        <label class="field">
          Missed ticks: skip, once, or how many of the latest
          <input
            class="input"
            required
            pattern="skip|once|[1-9][0-9]{0,3}"
            value={draft.missed}
            onInput={(e) => set({ missed: e.currentTarget.value })}
          />
        </label>
        {stored !== undefined && !before.startsFlows && (
          <label class="field">
            Input
            {stored.redacted && " (parts are redacted here; left alone, the stored one stays in full)"}
            <textarea
              class="input"
              rows={6}
              spellcheck={false}
              readOnly={!stored.editable}
              value={typed ?? was}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
            {!stored.editable && (
              <span class="quiet small">
                Unique key, price or limits follow from this input by the code: change it there, or serve with its
                definitions.
              </span>
            )}
          </label>
        )}
        <label class="row">
          <input type="checkbox" checked={draft.paused} onChange={(e) => set({ paused: e.currentTarget.checked })} />
          Paused
        </label>
        {fault !== "" && (
          <p role="alert" class="c-dead wrap">
            {fault}
          </p>
        )}
        <footer>
          <button type="button" class="button" onClick={close}>
            Keep as it is
          </button>
          <button type="submit" class="button primary">
            Save
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
