// The one list of what must hold in every database: asked by `fairmill verify` of a live one, and by the tests after each of them.
import { BATCH_INVARIANTS } from "./batch-invariants.js";
import { CREDIT_INVARIANTS } from "./credit-invariants.js";
import type { Invariant } from "./invariant.js";
import { JOB_INVARIANTS } from "./job-invariants.js";
import { OUTBOX_INVARIANTS } from "./outbox-invariants.js";

import { PROVIDER_INVARIANTS } from "./provider-invariants.js";

export const INVARIANTS: readonly Invariant[] = [
  ...JOB_INVARIANTS,
  ...CREDIT_INVARIANTS,
  ...OUTBOX_INVARIANTS,
  ...BATCH_INVARIANTS,
  ...PROVIDER_INVARIANTS,
];
