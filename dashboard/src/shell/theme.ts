// Light, dark, or what the system says.
import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const KEY = "fairmill-theme";

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system"; // Storage may be forbidden; then the choice lasts as long as the page.
  }
}

export const theme = signal<Theme>(stored());

effect(() => {
  const chosen = theme.value;
  if (chosen === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
  try {
    if (chosen === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, chosen);
  } catch {}
});

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
export const nextTheme = (): void => {
  theme.value = NEXT[theme.value];
};
