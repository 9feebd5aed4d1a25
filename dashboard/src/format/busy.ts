// How busy a fleet is. Workers claim short jobs ahead, and what they have claimed runs as far as the database knows: then more run than can at once.
import { count, percent } from "./numbers";

/** The part of the capacity that is in use, and what is claimed beyond it, if anything. */
export const busyShare = (running: number, capacity: number): string =>
  capacity > 0 ? percent(Math.min(1, running / capacity)) : "–";

export const claimedAhead = (running: number, capacity: number): string =>
  running > capacity ? `, ${count(running - capacity)} claimed ahead` : "";
