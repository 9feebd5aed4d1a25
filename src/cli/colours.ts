// Colours of the states of jobs and batches, for terminals that show colours.
import { styleText } from "node:util";

const COLOURS = {
  scheduled: "gray",
  ready: "cyan",
  blocked: "yellow",
  running: "blue",
  done: "green",
  dead: "red",
  cancelled: "gray",
  waiting: "gray",
  pending: "blue",
  succeeded: "green",
  failed: "red",
  skipped: "gray",
} as const;

/** The cell may be padded or cut. */
export function colourOfState(cell: string): string {
  const state = cell.trim();
  return state in COLOURS ? styleText(COLOURS[state as keyof typeof COLOURS], cell) : cell;
}
