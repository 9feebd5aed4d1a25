// Erases a tenant in very small steps, and says when it is in the middle of the tables: then the test kills it.

import { systemClock } from "../../dist/base/clock.js";
import { openClient } from "../../dist/client/client.js";
import { runErasure } from "../../dist/retention/erasure-runner.js";
import { startErasure } from "../../dist/retention/erasure-statements.js";

const { db } = openClient({ databaseUrl: process.argv[2] });
const id = await startErasure(db, {
  tenant: "acme",
  actor: "ann",
  account: "acme",
  cachePrefix: "acme/",
  storages: [],
});
await runErasure(db, systemClock, id, {
  blocksMax: 1,
  onStep: ({ phase, counts }) => {
    if (phase !== "tables" || counts.job_history === undefined) return;
    process.send(phase);
    // Nothing more until the end.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  },
});
