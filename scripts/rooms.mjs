// The rooms of `src/`, and which rooms each may import from, besides itself: the only place where this is said. ARCHITECTURE.md lists the rooms; a test
// compares.
const below = ["base", "db", "core"];
const features = [
  "intervals",
  "limits",
  "batches",
  "steps",
  "credits",
  "outbox",
  "providers",
  "schedules",
  "encryption",
  "logs",
  "metrics",
  "alerts",
  "jobs",
  "audit",
  "bulk",
  "cache",
];
/** Rooms that only commands ask. */
const examined = ["verify", "doctor", "init", "roles"];
export const MAY_IMPORT = {
  base: [],
  db: ["base"],
  core: ["base", "db"],
  limits: below,
  steps: below,
  credits: below,
  encryption: below,
  outbox: below,
  providers: below,
  logs: below,
  tracing: below,
  metrics: ["base", "db"],
  alerts: ["base", "db", "metrics"],
  // Watches the steps of runs.
  intervals: [...below, "steps"],
  schedules: [...below, "limits", "batches"],
  batches: [...below, "limits"],
  // Looking at jobs shows what features keep of them.
  jobs: [...below, "limits", "batches", "steps", "outbox", "schedules", "logs"],
  verify: ["base", "db"],
  doctor: ["base", "db"],
  init: ["base"],
  audit: below,
  cache: below,
  bulk: [...below, "jobs"],
  // Which role of the database may do what.
  roles: ["base", "db"],
  client: [...below, ...features],
  worker: [...below, ...features, "client"],
  ticks: [...below, ...features, "client", "worker"],
  pool: [...below, ...features, "worker"],
  config: [...below, "alerts", "outbox", "worker", "pool"],
  // Shows the pools that supervisors report.
  http: [...below, ...features, "client", "pool"],
  // Tools for agents, over the API.
  mcp: ["base", "http"],
  embedded: ["base"],
  adapters: ["base", "db"],
  testing: [...below, ...features, "client", "worker", "ticks", "embedded"],
  storage: ["base"],
  command: [...below, ...features, ...examined, "client", "worker", "pool", "config", "ticks", "http", "mcp", "cli"],
  cli: [
    ...[...below, ...features, ...examined, "client", "worker", "pool", "config", "ticks", "http", "mcp"],
    ...["embedded", "command"],
    ...["index", "errors", "webhooks"],
  ],
  index: [...below, ...features, "client", "worker", "pool", "config", "ticks"],
  errors: [...below, ...features, "pool", "storage", "testing"],
  webhooks: ["outbox"],
  observe: ["logs", "metrics", "alerts", "providers"],
};
