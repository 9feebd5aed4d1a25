// A modal dialog: the browser's own, which keeps the focus inside and closes with Escape.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export function Dialog(props: { label: string; close: () => void; high?: boolean; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside the dialog closes it; the key for it is Escape
    <dialog
      ref={element}
      class={props.high ? "high" : ""}
      aria-label={props.label}
      onClose={props.close}
      onClick={(event) => event.target === element.current && props.close()}
    >
      {props.children}
    </dialog>
  );
}
