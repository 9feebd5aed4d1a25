// The job's own log, paged; levels in words.
import { useState } from "preact/hooks";
import type { LogLine, Page as PageOf } from "../../data/contract";
import { useResource } from "../../data/resource";
import { clock, timeOf } from "../../format/times";
import { Loaded } from "../../parts/loaded";
import { Panel } from "../../parts/panel";

const TONES: Record<string, string> = { warn: "c-blocked", error: "c-dead", fatal: "c-dead", info: "c-ink" };

export function LogsPanel({ path }: { path: string }) {
  const [level, setLevel] = useState("");
  const [cursor, setCursor] = useState("");
  const query = new URLSearchParams({ limit: "100", ...(level ? { level } : {}), ...(cursor ? { cursor } : {}) });
  const logs = useResource<PageOf<LogLine>>(`${path}/logs?${query}`, ["jobs"]);
  return (
    <Panel
      title="Log"
      tools={
        <select
          class="input"
          aria-label="Least level"
          value={level}
          onChange={(event) => {
            setLevel(event.currentTarget.value);
            setCursor("");
          }}
        >
          <option value="">all levels</option>
          {["debug", "info", "warn", "error"].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      }
    >
      <Loaded from={logs} rows={4} unrecorded="Logs of jobs are not kept by this server.">
        {(page) => (
          <>
            {page.items.length === 0 && <p class="quiet">The handler logged nothing. Use ctx.log in it.</p>}
            <ol class="log">
              {page.items.map((line) => (
                <li key={line.id}>
                  <span class="quiet">{clock(timeOf(line.at))}</span>
                  <span class={TONES[line.level] ?? "c-quiet"}>{line.level}</span>
                  <span class="wrap">
                    {line.message}{" "}
                    {Object.keys(line.fields).length > 0 && <span class="quiet">{JSON.stringify(line.fields)}</span>}
                  </span>
                </li>
              ))}
            </ol>
            {page.next && (
              <button type="button" class="button little" onClick={() => setCursor(page.next!)}>
                Next lines
              </button>
            )}
          </>
        )}
      </Loaded>
    </Panel>
  );
}
