// Pausing a tenant, a queue or a kind, with or without an end, and the sign of what is paused.
import { useState } from "preact/hooks";
import { full } from "../format/times";
import { Action } from "./action";
import { Badge } from "./badge";

interface Paused {
  readonly pausedAt: string | null;
  readonly pausedUntil: string | null;
}

export const PausedBadge = ({ of: { pausedAt, pausedUntil } }: { of: Paused }) =>
  pausedAt && (
    <Badge tone="cancelled" icon="pause">
      {pausedUntil ? `paused until ${full(pausedUntil)}` : "paused"}
    </Badge>
  );

const LENGTHS: readonly [value: string, label: string][] = [
  ["", "until it is resumed"],
  ["10m", "for 10 minutes"],
  ["1h", "for an hour"],
  ["1d", "for a day"],
];

interface PauseProps {
  readonly path: string;
  readonly name: string;
  readonly of: Paused;
  readonly little?: boolean;
}

/** Resumes what is paused; asks how long before it pauses. */
export function PauseAction({ path, name, of, little = false }: PauseProps) {
  const [lasting, setLasting] = useState("");
  if (of.pausedAt)
    return (
      <Action
        little={little}
        label="Resume"
        icon="play"
        {...(little ? {} : { kind: "primary" as const })}
        path={`${path}/resume`}
        done={() => `${name} goes on`}
      />
    );
  const asked = (
    <>
      <p>No job of {name} starts meanwhile. Those that run go on.</p>
      <select
        class="input"
        aria-label="How long"
        value={lasting}
        onChange={(event) => setLasting(event.currentTarget.value)}
      >
        {LENGTHS.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </>
  );
  return (
    <Action
      little={little}
      label="Pause"
      icon="pause"
      path={`${path}/pause`}
      body={lasting === "" ? {} : { for: lasting }}
      confirm={asked}
      done={() => `${name} is paused`}
    />
  );
}
