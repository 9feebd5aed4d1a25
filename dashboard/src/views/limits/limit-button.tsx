// Limits of a queue or a kind, in a dialog over its list.
import { useState } from "preact/hooks";
import type { Limits } from "../../data/contract";
import { may } from "../../data/session";
import { Dialog } from "../../parts/dialog";
import { LimitForm } from "./limit-form";

export function LimitButton({ scope, name, now }: { scope: "queue" | "kind"; name: string; now: Limits }) {
  const [open, setOpen] = useState(false);
  if (!may("admin")) return null;
  return (
    <>
      <button type="button" class="button little" aria-label={`Limits of ${name}`} onClick={() => setOpen(true)}>
        Limits
      </button>
      {open && (
        <Dialog label={`Limits of ${name}`} close={() => setOpen(false)}>
          <div class="dialog-body">
            <h2 class="wrap">
              Limits of the {scope} {name}
            </h2>
            <LimitForm scope={scope} name={name} now={now} />
          </div>
        </Dialog>
      )}
    </>
  );
}
