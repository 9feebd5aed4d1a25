// Keys. One listener for the page; screens add their own while they are shown. Nothing happens while the user types.
import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { after } from "../data/clock";
import { go, link } from "./route";
import { SECTIONS } from "./sections";

export const paletteOpen = signal(false);
export const helpOpen = signal(false);

export interface Shortcut {
  readonly key: string;
  readonly does: string;
  readonly act: () => void;
}

const screens = signal<readonly (readonly Shortcut[])[]>([]);
export const screenShortcuts = (): readonly Shortcut[] => screens.value.flat();

export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  useLayoutEffect(() => {
    screens.value = [...screens.value, shortcuts];
    return () => {
      screens.value = screens.value.filter((one) => one !== shortcuts);
    };
  });
}

const types = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Set after `g`, until the letter comes or the time is over. */
let forgetG: (() => void) | undefined;

function onKey(event: KeyboardEvent): void {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    paletteOpen.value = !paletteOpen.value;
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || types(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  const act = actionOf(event.key);
  if (!act) return;
  event.preventDefault();
  act();
}

function actionOf(key: string): (() => void) | undefined {
  if (forgetG) {
    forgetG();
    forgetG = undefined;
    const section = SECTIONS.find((one) => one.key === key);
    return section && (() => go(link([section.id])));
  }
  if (key === "g")
    return () => {
      forgetG = after(1500, () => {
        forgetG = undefined;
      });
    };
  if (key === "/") return () => (paletteOpen.value = true);
  if (key === "?") return () => (helpOpen.value = true);
  return screens
    .peek()
    .flat()
    .find((shortcut) => shortcut.key === key)?.act;
}

addEventListener("keydown", onKey);
