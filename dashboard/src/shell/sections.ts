// The screens: their names, groups and keys. Sidebar, palette, shortcuts and help come from this table.
import type { IconName } from "../parts/icon";

export interface Section {
  readonly id: string;
  readonly name: string;
  readonly icon: IconName;
  /** Pressed after `g`. */
  readonly key: string;
  readonly group: string;
  readonly about: string;
}

export const SECTIONS: readonly Section[] = [
  { id: "now", name: "Now", icon: "now", key: "n", group: "", about: "What runs, what waits, what needs you" },
  { id: "jobs", name: "Jobs", icon: "jobs", key: "j", group: "Work", about: "Find jobs and act on them" },
  { id: "flows", name: "Flows", icon: "flows", key: "f", group: "Work", about: "Graphs of jobs" },
  { id: "schedules", name: "Schedules", icon: "schedules", key: "s", group: "Work", about: "Jobs by the clock" },
  { id: "queues", name: "Queues", icon: "queues", key: "q", group: "Work", about: "Queues and kinds, live" },
  {
    id: "approvals",
    name: "Approvals",
    icon: "approvals",
    key: "p",
    group: "Work",
    about: "Jobs that wait for an answer",
  },
  {
    id: "tenants",
    name: "Tenants",
    icon: "tenants",
    key: "t",
    group: "Fairness",
    about: "Share given, share entitled",
  },
  {
    id: "limits",
    name: "Limits & providers",
    icon: "limits",
    key: "l",
    group: "Fairness",
    about: "Rates, breakers, latency",
  },
  {
    id: "workers",
    name: "Workers & scaling",
    icon: "workers",
    key: "w",
    group: "Fleet",
    about: "Who works, who decides how many",
  },
  { id: "outbox", name: "Outbox", icon: "outbox", key: "o", group: "Effects", about: "Messages to receivers outside" },
  { id: "money", name: "Credits & money", icon: "money", key: "m", group: "Effects", about: "Credits, cost, margin" },
  { id: "errors", name: "Errors", icon: "errors", key: "e", group: "Trouble", about: "Failures by fingerprint" },
  { id: "alerts", name: "Alerts", icon: "alerts", key: "a", group: "Trouble", about: "Rules, firing and quiet" },
  { id: "audit", name: "Audit", icon: "audit", key: "u", group: "Trouble", about: "Who did what" },
];

export const sectionOf = (id: string | undefined): Section =>
  SECTIONS.find((section) => section.id === (id === "bulk" ? "jobs" : id)) ?? SECTIONS[0]!;
