// Ctrl-K or `/`: every screen, and whatever was typed as a job's id or as a filter of the list of jobs.
import { useState } from "preact/hooks";
import { Dialog } from "../parts/dialog";
import { Icon, type IconName } from "../parts/icon";
import { go, link } from "./route";
import { SECTIONS } from "./sections";
import { helpOpen, paletteOpen } from "./shortcuts";
import { nextTheme } from "./theme";

interface Entry {
  readonly id: string;
  readonly name: string;
  readonly note: string;
  readonly icon: IconName;
  readonly act: () => void;
}

const FACETS = ["state", "tenant", "queue", "kind", "key", "tag", "batch", "error"];

/** `tenant:acme state:dead` becomes the filter of the list of jobs. */
export function filterOf(text: string): Record<string, string> | undefined {
  const words = text.trim().split(/\s+/);
  const found: Record<string, string> = {};
  for (const word of words) {
    const mark = word.indexOf(":");
    const name = word.slice(0, mark);
    if (mark < 1 || !FACETS.includes(name) || mark === word.length - 1) return undefined;
    found[name] = word.slice(mark + 1);
  }
  return words.length > 0 ? found : undefined;
}

function entriesFor(text: string): Entry[] {
  const wanted = text.trim();
  const entries: Entry[] = [];
  if (/^\d+$/.test(wanted))
    entries.push({
      id: "job",
      name: `Job ${wanted}`,
      note: "Open by id",
      icon: "right",
      act: () => go(link(["jobs", wanted])),
    });
  const filter = wanted === "" ? undefined : filterOf(wanted);
  if (filter)
    entries.push({ id: "filter", name: "Jobs", note: wanted, icon: "search", act: () => go(link(["jobs"], filter)) });
  else if (wanted !== "" && entries.length === 0) {
    for (const facet of ["tenant", "kind", "queue", "key"])
      entries.push({
        id: `f-${facet}`,
        name: `Jobs of ${facet} ${wanted}`,
        note: "",
        icon: "search",
        act: () => go(link(["jobs"], { [facet]: wanted })),
      });
  }
  const low = wanted.toLowerCase();
  const screens = SECTIONS.filter(({ name, about }) => `${name} ${about}`.toLowerCase().includes(low)).map(
    (section): Entry => ({
      id: section.id,
      name: section.name,
      note: section.about,
      icon: section.icon,
      act: () => go(link([section.id])),
    }),
  );
  const others: Entry[] = [
    { id: "theme", name: "Switch theme", note: "Light, dark, system", icon: "moon", act: nextTheme },
    { id: "help", name: "Keyboard shortcuts", note: "", icon: "help", act: () => (helpOpen.value = true) },
  ];
  return [...screens, ...others.filter(({ name }) => name.toLowerCase().includes(low)), ...entries].sort(
    (a, b) => Number(/^(job|filter)$/.test(b.id)) - Number(/^(job|filter)$/.test(a.id)),
  );
}

export const Palette = () => (paletteOpen.value ? <OpenPalette /> : null);

function OpenPalette() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const entries = entriesFor(text);
  const chosen = Math.min(at, entries.length - 1);
  const close = () => (paletteOpen.value = false);
  const pick = (entry: Entry | undefined) => {
    close();
    entry?.act();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt((chosen + 1) % entries.length);
    else if (event.key === "ArrowUp") setAt((chosen + entries.length - 1) % entries.length);
    else if (event.key === "Enter") pick(entries[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog label="Search and go" close={close} high>
      <div class="palette">
        <input
          class="palette-input"
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={entries[chosen] ? `palette-${entries[chosen].id}` : undefined}
          aria-label="A job's id, tenant:acme state:dead, or the name of a screen"
          placeholder="Job id, tenant:acme state:dead, or a screen"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={onKey}
        />
        <div id="palette-list" class="palette-list" role="listbox" aria-label="Matches">
          {entries.map((entry, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled by the field
            // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field, aria-activedescendant names the choice
            <div
              key={entry.id}
              id={`palette-${entry.id}`}
              role="option"
              aria-selected={index === chosen}
              class="palette-item"
              onClick={() => pick(entry)}
              onPointerMove={() => setAt(index)}
            >
              <Icon name={entry.icon} />
              <span class="clip">{entry.name}</span>
              <span class="quiet small clip push">{entry.note}</span>
            </div>
          ))}
        </div>
      </div>
    </Dialog>
  );
}
