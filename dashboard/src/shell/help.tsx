import { Dialog } from "../parts/dialog";
import { SECTIONS } from "./sections";
import { helpOpen, screenShortcuts } from "./shortcuts";

const Keys = ({ keys }: { keys: string }) => (
  <span class="nowrap">
    {keys.split(" ").map((key) => (
      <kbd key={key}>{key}</kbd>
    ))}
  </span>
);

/** Every key that works here. */
export function Help() {
  if (!helpOpen.value) return null;
  const own = screenShortcuts();
  return (
    <Dialog label="Keyboard" close={() => (helpOpen.value = false)}>
      <div class="dialog-body">
        <h2>Keyboard</h2>
        {own.length > 0 && <List title="On this screen" rows={own.map(({ key, does }) => [key, does])} />}
        <List
          title="Everywhere"
          rows={[
            ["/", "Search, or go to a job by its id"],
            ["Ctrl-K", "All screens and actions"],
            ["?", "This help"],
            ["Esc", "Close"],
          ]}
        />
        <List title="Go to" rows={SECTIONS.map(({ key, name }) => [`g ${key}`, name])} />
        <footer>
          <button type="button" class="button" onClick={() => (helpOpen.value = false)}>
            Close
          </button>
        </footer>
      </div>
    </Dialog>
  );
}

const List = ({ title, rows }: { title: string; rows: readonly (readonly [string, string])[] }) => (
  <section class="stack tight">
    <h3 class="quiet small">{title}</h3>
    <ul class="key-list">
      {rows.map(([keys, does]) => (
        <li key={keys}>
          <span>{does}</span>
          <Keys keys={keys} />
        </li>
      ))}
    </ul>
  </section>
);
