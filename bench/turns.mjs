// Lets contestants take turns, so that a slow minute of the machine hits all of them.

/**
 * Runs every contestant once per round, every other round in reverse order. Returns the samples, a list per contestant.
 * @template C, S
 * @param {{ rounds: number, say: (text: string) => void }} bench
 * @param {(C & { label: string })[]} contestants
 * @param {(contestant: C) => Promise<S>} measure
 * @returns {Promise<S[][]>}
 */
export async function takeTurns(bench, contestants, measure) {
  const samples = contestants.map(() => []);
  for (let round = 0; round < bench.rounds; round++) {
    const order = [...contestants.keys()];
    if (round % 2 === 1) order.reverse();
    for (const i of order) {
      bench.say(`round ${round + 1} of ${bench.rounds}: ${contestants[i].label}`);
      samples[i].push(await measure(contestants[i]));
    }
  }
  return samples;
}
