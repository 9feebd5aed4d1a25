// A new schedule: its name, when, and which job it makes.
import { useState } from "preact/hooks";
import type { ScheduleRow } from "../../data/contract";
import { segment } from "../../data/segment";
import { may } from "../../data/session";
import { act } from "../../parts/action";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { NextRunsPreview } from "./next-runs";

export function NewSchedule({ known }: { known: readonly string[] }) {
  const [open, setOpen] = useState(false);
  if (!may("admin")) return null;
  return (
    <>
      <button type="button" class="button" onClick={() => setOpen(true)}>
        <Icon name="plus" small /> New schedule
      </button>
      {open && <ScheduleDialog known={known} close={() => setOpen(false)} />}
    </>
  );
}

const EMPTY = { name: "", cron: "0 3 * * *", timezone: "UTC", kind: "", tenant: "", input: "{}" };

function ScheduleDialog({ known, close }: { known: readonly string[]; close: () => void }) {
  const [draft, setDraft] = useState(EMPTY);
  const [fault, setFault] = useState("");
  const save = async (event: Event) => {
    event.preventDefault();
    const { name, cron, timezone, kind, tenant, input: text } = draft;
    // One that is there would be written over, and its input with it.
    if (known.includes(name)) return setFault(`There is a schedule "${name}" already.`);
    let input: unknown;
    try {
      input = JSON.parse(text);
    } catch (error) {
      return setFault(`The input is not JSON: ${(error as Error).message}`);
    }
    const body = { cron, timezone, kind, input, ...(tenant !== "" ? { tenant } : {}) };
    close();
    await act<ScheduleRow>("PUT", `schedules/${segment(name)}`, body, () => `${name} is set`);
  };
  const field = (part: keyof typeof EMPTY, label: string, required = true) => (
    <label class="field grow">
      {label}
      <input
        class="input"
        value={draft[part]}
        required={required}
        maxLength={200}
        onInput={(event) => setDraft({ ...draft, [part]: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <Dialog label="New schedule" close={close}>
      <form class="dialog-body" onSubmit={save}>
        <h2>New schedule</h2>
        {field("name", "Name")}
        <div class="row">
          {field("cron", "Cron")}
          {field("timezone", "Time zone")}
        </div>
        <NextRunsPreview cron={draft.cron} timezone={draft.timezone} />
        <div class="row">
          {field("kind", "Kind of job")}
          {field("tenant", "Tenant (empty: default)", false)}
        </div>
        <label class="field">
          Input
          <textarea
            class="input"
            rows={5}
            spellcheck={false}
            value={draft.input}
            onInput={(event) => setDraft({ ...draft, input: event.currentTarget.value })}
          />
        </label>
        {fault !== "" && <p class="c-dead wrap">{fault}</p>}
        <div class="row">
          <button type="button" class="button" onClick={close}>
            Keep as it is
          </button>
          <button type="submit" class="button primary push">
            Set
          </button>
        </div>
      </form>
    </Dialog>
  );
}
