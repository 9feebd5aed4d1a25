// Dice that can be thrown again.

/** TEST_SEED, or one of the moment; printed, so that a failure can be repeated. */
export function newSeed(): number {
  const seed = Number(process.env["TEST_SEED"] ?? Date.now() % 1_000_000);
  console.log(`seed ${seed}`);
  return seed;
}

/** Numbers from 0 to 1, the same for the same seed. */
export function dice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
