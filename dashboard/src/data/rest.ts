// How long a screen rests after an answer before it asks again: at least two seconds, and the longer the longer the answer took, so that looking never takes
// more than a twentieth of the time of what it looks at.
const EVERY_MS = 2_000;
const EVERY_MS_MAX = 30_000;
const PART_OF_TIME = 20;

export const restMs = (tookMs: number): number => Math.min(EVERY_MS_MAX, Math.max(EVERY_MS, PART_OF_TIME * tookMs));
