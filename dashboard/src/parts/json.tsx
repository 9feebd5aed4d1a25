// A JSON value as text, bounded.
import { bytes } from "../format/numbers";

const SHOWN_MAX = 40_000;

export function Json({ value, label }: { value: unknown; label: string }) {
  const text = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "null");
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <pre class="code" tabIndex={0} role="region" aria-label={label}>
        {text.slice(0, SHOWN_MAX)}
      </pre>
      {text.length > SHOWN_MAX && (
        <p class="quiet small">
          Cut at {bytes(SHOWN_MAX)}; the JSON twin has all {bytes(text.length)}.
        </p>
      )}
    </>
  );
}
