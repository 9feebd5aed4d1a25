// States in words, with an icon and a colour: each of the three says it alone.
import type { JobState } from "../data/job-states";
import { Icon, type IconName } from "./icon";

/** A colour for each state of a job; everything else that has a state takes one of them. */
export type Tone = JobState;

const OF_JOBS: Record<JobState, [Tone, IconName]> = {
  scheduled: ["scheduled", "schedules"],
  ready: ["ready", "ring"],
  blocked: ["blocked", "lock"],
  running: ["running", "play"],
  done: ["done", "check"],
  dead: ["dead", "dead"],
  cancelled: ["cancelled", "slash"],
};

/** Every state that any object of the dashboard may have. */
const SIGNS: Record<string, [Tone, IconName]> = {
  ...OF_JOBS,
  // Batches and flows.
  waiting: ["scheduled", "schedules"],
  pending: ["running", "play"],
  succeeded: ["done", "check"],
  failed: ["dead", "dead"],
  skipped: ["cancelled", "slash"],
  // Messages.
  open: ["ready", "ring"],
  sending: ["running", "play"],
  delivered: ["done", "check"],
  sent: ["done", "check"],
  uncertain: ["blocked", "help"],
  reserved: ["blocked", "lock"],
  "needs review": ["blocked", "help"],
  // Workers.
  alive: ["done", "check"],
  idle: ["ready", "ring"],
  working: ["running", "play"],
  starting: ["scheduled", "up"],
  draining: ["blocked", "less"],
  stopping: ["blocked", "less"],
  stopped: ["cancelled", "slash"],
  terminated: ["cancelled", "slash"],
  lost: ["dead", "dead"],
  gone: ["cancelled", "slash"],
  // Alerts, breakers, audit.
  firing: ["dead", "alerts"],
  ok: ["done", "check"],
  resolved: ["done", "check"],
  silenced: ["cancelled", "slash"],
  closed: ["done", "check"],
  half_open: ["blocked", "retry"],
  "half-open": ["blocked", "retry"],
  paused: ["cancelled", "pause"],
  active: ["done", "check"],
  refused: ["dead", "dead"],
};

export const toneOf = (state: string): Tone => (Object.hasOwn(SIGNS, state) ? SIGNS[state]![0] : "cancelled");
export const iconOf = (state: string): IconName => (Object.hasOwn(SIGNS, state) ? SIGNS[state]![1] : "dots");

export const StateBadge = ({ state, label, bare }: { state: string; label?: string; bare?: boolean }) => (
  <span class={`badge tone-${toneOf(state)}${bare ? " bare" : ""}`}>
    <Icon name={iconOf(state)} small />
    <span class="clip">{label ?? state.replaceAll("_", " ")}</span>
  </span>
);

export const Badge = ({
  tone,
  icon,
  children,
}: {
  tone?: Tone;
  icon?: IconName;
  children: preact.ComponentChildren;
}) => (
  <span class={tone ? `badge tone-${tone}` : "badge"}>
    {icon && <Icon name={icon} small />}
    <span class="clip">{children}</span>
  </span>
);
