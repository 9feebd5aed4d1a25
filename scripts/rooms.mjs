// The rooms of `src/`, and which rooms each may import from, besides itself. ARCHITECTURE.md shows this table; a test compares the two.
const below = ["base", "db", "core"];
const features = ["limits", "batches", "steps", "credits", "outbox", "schedules", "encryption", "jobs"];
export const MAY_IMPORT = {
  base: [],
  db: ["base"],
  core: ["base", "db"],
  limits: below,
  steps: below,
  credits: below,
  encryption: below,
  outbox: below,
  schedules: [...below, "limits"],
  batches: [...below, "limits"],
  // Looking at jobs shows what features keep of them.
  jobs: [...below, "limits", "batches", "steps", "outbox", "schedules"],
  client: [...below, ...features],
  worker: [...below, ...features, "client"],
  embedded: ["base"],
  adapters: ["base", "db"],
  storage: ["base"],
  command: [...below, ...features, "client", "worker", "cli"],
  cli: [...below, ...features, "client", "worker", "embedded", "command", "index", "errors", "webhooks"],
  index: [...below, ...features, "client", "worker"],
  errors: [...below, ...features],
  webhooks: ["outbox"],
};
