// Which decisions of an auto-scaler are worth a mark.
import type { ScalingDecision } from "../../data/contract";

/** A round that came to the same as the one before it has no mark of its own: marks tell when something changed. */
export const isNews = (one: ScalingDecision, before: ScalingDecision | undefined): boolean =>
  before === undefined ||
  one.wanted !== before.wanted ||
  one.actual !== before.actual ||
  one.suppressed !== before.suppressed ||
  one.cappedBy !== before.cappedBy;
