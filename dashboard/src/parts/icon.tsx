// Our own icons: 16 × 16, one stroke, the colour of the text around them. They accompany words; alone they get a label on their button.
const PATHS = {
  now: "M1.5 8.5h3l2-5 3 9 2-4h3",
  jobs: "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01",
  flows: "M2 3h4v3H2zM10 10h4v3h-4zM2 10h4v3H2zM4 6v4M6 11.5h4M6 4.5h4.5a1.5 1.5 0 0 1 1.5 1.5v4",
  schedules: "M8 14.2a6.2 6.2 0 1 0 0-12.4 6.2 6.2 0 0 0 0 12.4zM8 4.5V8l2.5 1.5",
  queues: "M8 2 14 5 8 8 2 5zM2 8l6 3 6-3M2 11l6 3 6-3",
  approvals: "M2 9.5h3.5l1 2h3l1-2H14M3.5 3h9L14 9.5V13H2V9.5z",
  tenants: "M2 4h12M2 8h8M2 12h11M12.5 7v2M15 3v2",
  limits: "M2.5 12.5a6.5 6.5 0 1 1 11 0M8 10l3-4M7.5 10.5h1",
  workers: "M4 4h8v8H4zM6.5 6.5h3v3h-3zM6 1.5V4M10 1.5V4M6 12v2.5M10 12v2.5M1.5 6H4M1.5 10H4M12 6h2.5M12 10h2.5",
  outbox: "M14 2 7.3 8.7M14 2 9.8 14 7.3 8.7 2 6.2z",
  money:
    "M8 14.2a6.2 6.2 0 1 0 0-12.4 6.2 6.2 0 0 0 0 12.4zM10 6c-.4-.9-1.2-1.2-2-1.2-1.2 0-2 .7-2 1.6 0 2.2 4.2 1 4.2 3.2 0 1-.9 1.7-2.2 1.7-1 0-1.9-.5-2.2-1.4M8 3.7v1.1M8 11.3v1.1",
  errors: "M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.6h.01",
  alerts: "M3.5 11.5V7a4.5 4.5 0 0 1 9 0v4.5l1 1h-11zM6.7 14.5h2.6",
  audit: "M3.5 2h7l2.5 2.5V14h-9.5zM6 7h4M6 9.5h4M6 12h2.5",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5 14 14",
  terminal: "M2 3h12v10H2zM4.5 6l2 2-2 2M8.5 10h3",
  json: "M6 2.5c-2 0-2 1-2 2.5s0 2.5-1.5 3C4 8.5 4 9.5 4 11s0 2.5 2 2.5M10 2.5c2 0 2 1 2 2.5s0 2.5 1.5 3C12 8.5 12 9.5 12 11s0 2.5-2 2.5",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z",
  system: "M2 3h12v8H2zM6 14h4M8 11v3",
  help: "M8 14.2a6.2 6.2 0 1 0 0-12.4 6.2 6.2 0 0 0 0 12.4zM6.2 6.2c0-1.1.800-1.9 1.8-1.9s1.8.700 1.8 1.7c0 1.5-1.8 1.5-1.8 2.9M8 11.3h.01",
  menu: "M2 4h12M2 8h12M2 12h12",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5 6.5 12 13 4.5",
  dead: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  slash: "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM4.2 11.8l7.6-7.6",
  play: "M5 3.5v9l7.5-4.5z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  ring: "M8 12.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9z",
  dots: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  lock: "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
  retry: "M13.5 8a5.5 5.5 0 1 1-1.7-4M13.5 2v3h-3",
  right: "M6 3.5 10.5 8 6 12.5",
  down: "M3.5 6 8 10.5 12.5 6",
  plus: "M8 3v10M3 8h10",
  up: "M8 13V3M4 7l4-4 4 4",
  less: "M8 3v10M4 9l4 4 4-4",
  equal: "M3 6h10M3 10h10",
  export: "M8 2v8M5 7l3 3 3-3M2.5 11v2.5h11V11",
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = ({ name, small }: { name: IconName; small?: boolean }) => (
  <svg class={small ? "icon small" : "icon"} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    <path d={PATHS[name]} />
  </svg>
);

/** The mark of Fairmill: three lanes that share one mill. */
export const Mark = () => (
  <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="8" fill="#2f54d6" />
    <g fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round">
      <path d="M7 9h5c4 0 4 7 8 7h5" />
      <path d="M7 16h18" />
      <path d="M7 23h5c4 0 4-7 8-7" />
    </g>
  </svg>
);
