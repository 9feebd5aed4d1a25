// Sidebar, bar on top, and the screen that the address names.
import { signal } from "@preact/signals";
import type { Now } from "../data/contract";
import { liveState, togglePause } from "../data/live";
import { useResource } from "../data/resource";
import { isHidden, me, signOut } from "../data/session";
import { Icon, Mark } from "../parts/icon";
import { screenOf } from "../views/screens";
import { Boundary } from "./boundary";
import { Help } from "./help";
import { Palette } from "./palette";
import { link, route } from "./route";
import { SECTIONS, sectionOf } from "./sections";
import { helpOpen, paletteOpen } from "./shortcuts";
import { nextTheme, theme } from "./theme";
import { Toasts } from "./toast";

const menuOpen = signal(false);

export function Shell() {
  const { parts } = route.value;
  const Screen = screenOf(parts);
  return (
    <div class="shell">
      <button type="button" class="skip button" onClick={() => document.getElementById("content")?.focus()}>
        Skip to content
      </button>
      <Side current={sectionOf(parts[0]).id} />
      {menuOpen.value && (
        <button type="button" class="scrim" aria-label="Close menu" onClick={() => (menuOpen.value = false)} />
      )}
      <div class="main">
        <Top />
        <main id="content" class="content" tabIndex={-1} key={parts.join("/")} data-screen={parts.join("/")}>
          <Boundary>
            <Screen parts={parts} />
          </Boundary>
        </main>
      </div>
      <Palette />
      <Help />
      <Toasts />
    </div>
  );
}

function Side({ current }: { current: string }) {
  const groups = [...new Set(SECTIONS.map(({ group }) => group))];
  const all = useResource<Now>("now", ["jobs", "workers", "alerts"]).data?.needsYou ?? [];
  // What is told for information needs nobody.
  const needs = all.filter(({ severity }) => severity !== "info").length;
  return (
    <nav id="screens" class={menuOpen.value ? "side open" : "side"} aria-label="Screens">
      <a class="brand" href="#/now">
        <Mark /> <span class="nav-name">Fairmill</span>
      </a>
      {groups.map((group) => (
        <div key={group} class="nav-group">
          {group && <span class="nav-name">{group}</span>}
          {SECTIONS.filter((section) => section.group === group && !isHidden(section.id)).map((section) => (
            <a
              key={section.id}
              class="nav-link"
              href={link([section.id])}
              title={section.name}
              aria-current={section.id === current ? "page" : undefined}
              onClick={() => (menuOpen.value = false)}
            >
              <Icon name={section.icon} />
              <span class="nav-name">{section.name}</span>
              {section.id === "now" && needs > 0 && (
                <span class="count alarm">
                  {needs}
                  <span class="unseen"> need you</span>
                </span>
              )}
            </a>
          ))}
        </div>
      ))}
      <Foot />
    </nav>
  );
}

function Foot() {
  const who = me.value;
  if (!who) return null;
  return (
    <div class="side-foot">
      <span class="row spread">
        <span class="clip" title={who.actor}>
          {who.actor} · {who.role}
        </span>
        {who.via === "cookie" && (
          <button type="button" class="button ghost little" onClick={signOut}>
            Sign out
          </button>
        )}
      </span>
      {who.tenant !== null && <span class="clip">tenant {who.tenant}</span>}
      <span class="clip">
        {who.schema} · {who.version}
      </span>
    </div>
  );
}

const THEME_ICONS = { system: "system", light: "sun", dark: "moon" } as const;
const LIVE_WORDS = {
  live: "Live",
  paused: "Paused",
  hidden: "Hidden",
  lost: "Connection lost",
  connecting: "Connecting",
} as const;

const Top = () => (
  <header class="top">
    <button
      type="button"
      class="button ghost icon-only menu-button"
      aria-label="Menu"
      aria-controls="screens"
      aria-expanded={menuOpen.value}
      onClick={() => (menuOpen.value = !menuOpen.value)}
    >
      <Icon name="menu" />
    </button>
    <button
      type="button"
      class="search-button"
      aria-keyshortcuts="/ Control+K"
      onClick={() => (paletteOpen.value = true)}
    >
      <Icon name="search" /> <span class="clip">Search jobs and screens</span> <kbd>/</kbd>
    </button>
    <div class="tools">
      <button
        type="button"
        class="live"
        data-state={liveState.value}
        title={liveState.value === "paused" ? "Go on" : liveState.value === "lost" ? "Connect again" : "Pause"}
        onClick={togglePause}
      >
        {LIVE_WORDS[liveState.value]}
      </button>
      <button
        type="button"
        class="button ghost icon-only"
        aria-label={`Theme: ${theme.value}`}
        title={`Theme: ${theme.value}`}
        onClick={nextTheme}
      >
        <Icon name={THEME_ICONS[theme.value]} />
      </button>
      <button
        type="button"
        class="button ghost icon-only"
        aria-label="Keyboard help"
        title="Keyboard help"
        onClick={() => (helpOpen.value = true)}
      >
        <Icon name="help" />
      </button>
    </div>
  </header>
);
