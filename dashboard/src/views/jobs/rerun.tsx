// The same job again as a new one, with its input as it was or edited.
import { useState } from "preact/hooks";
import type { Enqueued, JobDetail } from "../../data/contract";
import { may } from "../../data/session";
import { act } from "../../parts/action";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { link } from "../../shell/route";

export function RerunButton({ job, path }: { job: JobDetail; path: string }) {
  const [open, setOpen] = useState(false);
  if (!may("operator")) return null;
  return (
    <>
      <button type="button" class="button" onClick={() => setOpen(true)}>
        <Icon name="plus" small /> Run as new
      </button>
      {open && <RerunDialog job={job} path={path} close={() => setOpen(false)} />}
    </>
  );
}

function RerunDialog({ job, path, close }: { job: JobDetail; path: string; close: () => void }) {
  const before = JSON.stringify(job.payload, null, 2) ?? "null";
  const [text, setText] = useState(before);
  const [fault, setFault] = useState("");
  const run = async () => {
    let body: Record<string, unknown> = {};
    if (text !== before) {
      try {
        body = { input: JSON.parse(text) as unknown };
      } catch (error) {
        setFault(`This is not JSON: ${(error as Error).message}`);
        return;
      }
    }
    close();
    await act<Enqueued>(
      "POST",
      `${path}/rerun`,
      body,
      ({ id }) => `Job ${id} repeats ${job.id}`,
      ({ id }) => link(["jobs", id]),
    );
  };
  return (
    <Dialog label="Run as new" close={close}>
      <div class="dialog-body">
        <h2>Run {job.kind} again as a new job</h2>
        {job.redacted && (
          <p class="muted">
            Parts of the payload are redacted here. Unedited, the new job gets the stored one in full.
          </p>
        )}
        <label class="field">
          Input
          <textarea
            class="input"
            rows={12}
            spellcheck={false}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        {fault && (
          <p role="alert" class="c-dead wrap">
            {fault}
          </p>
        )}
        <footer>
          <button type="button" class="button" onClick={close}>
            Close
          </button>
          <button type="button" class="button primary" onClick={run}>
            Enqueue
          </button>
        </footer>
      </div>
    </Dialog>
  );
}
