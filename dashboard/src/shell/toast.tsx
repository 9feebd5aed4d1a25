// Short messages about what was just done. They go away by themselves; a failure stays until it is closed.
import { signal } from "@preact/signals";
import { after } from "../data/clock";
import { Icon } from "../parts/icon";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly href?: string;
  readonly failed?: boolean;
}

const toasts = signal<readonly Toast[]>([]);
let last = 0;

const drop = (id: number): void => {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
};

export function tell(text: string, options: { href?: string; failed?: boolean } = {}): void {
  last += 1;
  const toast = { id: last, text, ...options };
  toasts.value = [...toasts.value.slice(-2), toast];
  if (!options.failed) after(5000, () => drop(toast.id));
}

export const Toasts = () => (
  <div class="toasts" role="status" aria-live="polite">
    {toasts.value.map((toast) => (
      <div key={toast.id} class="toast">
        <Icon name={toast.failed ? "errors" : "check"} />
        <span>
          {toast.text} {toast.href && <a href={toast.href}>Show</a>}
        </span>
        <button type="button" class="button ghost little push" aria-label="Close" onClick={() => drop(toast.id)}>
          <Icon name="close" small />
        </button>
      </div>
    ))}
  </div>
);
