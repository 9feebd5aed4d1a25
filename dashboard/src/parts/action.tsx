// A button that asks the server to do something: disabled while it does, tells what came of it, refreshes what is shown.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type Answer, send } from "../data/api";
import type { Role } from "../data/contract";
import { refreshAll } from "../data/resource";
import { may } from "../data/session";
import { tell } from "../shell/toast";
import { Dialog } from "./dialog";
import { Icon, type IconName } from "./icon";

export interface ActionProps {
  readonly label: string;
  readonly icon?: IconName;
  readonly role?: Role;
  readonly method?: "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  /** Asked first; what it will do, in words. */
  readonly confirm?: ComponentChildren;
  readonly done?: (value: { answer?: string } & Record<string, unknown>) => string;
  readonly kind?: "primary" | "danger";
  readonly little?: boolean;
}

export async function act<T>(
  method: "POST" | "PUT" | "DELETE",
  path: string,
  body: unknown,
  done: (value: T) => string,
  href?: (value: T) => string,
): Promise<Answer<T>> {
  const answer = await send<T>(method, path, body);
  if (answer.ok) tell(done(answer.value), href ? { href: href(answer.value) } : {});
  else
    tell(
      answer.problem.detail ||
        answer.problem.title ||
        "The server could not be reached; nothing is known to have been done.",
      { failed: true },
    );
  refreshAll();
  return answer;
}

/** Not shown to a role that may not. */
export function Action(props: ActionProps) {
  const [busy, setBusy] = useState(false);
  const [asking, setAsking] = useState(false);
  if (!may(props.role ?? "operator")) return null;
  const run = async () => {
    setAsking(false);
    setBusy(true);
    await act(
      props.method ?? "POST",
      props.path,
      props.body,
      props.done ?? (({ answer }) => `${props.label}: ${answer ?? "done"}`),
    );
    setBusy(false);
  };
  return (
    <>
      <button
        type="button"
        class={`button ${props.kind ?? ""} ${props.little ? "little" : ""}`}
        disabled={busy}
        onClick={() => (props.confirm ? setAsking(true) : run())}
      >
        {props.icon && <Icon name={props.icon} small />}
        {props.label}
      </button>
      {asking && (
        <Dialog label={props.label} close={() => setAsking(false)}>
          <div class="dialog-body">
            <h2>{props.label}</h2>
            <div class="wrap">{props.confirm}</div>
            <footer>
              <button type="button" class="button" onClick={() => setAsking(false)}>
                Keep as it is
              </button>
              <button type="button" class={`button ${props.kind ?? "primary"}`} onClick={run}>
                {props.label}
              </button>
            </footer>
          </div>
        </Dialog>
      )}
    </>
  );
}
