// What the programme came to, for people: how much was tried, what was seen, what is broken.

export function report({ seed, seconds }, { figures, problems }) {
  const { faults, jobs, transitions, messages, repeats, lockedMs, depthMax, tickMs, ticks, acknowledged, uncertain } =
    figures;
  const struck = Object.entries(faults).map(([name, count]) => `${count} ${name}`);
  return [
    `${jobs} jobs with ${transitions} transitions in ${seconds} s, seed ${seed}: ${acknowledged} acknowledged, ${uncertain} calls without an answer.`,
    `Faults: ${struck.join(", ") || "none"}.`,
    `${messages} messages were delivered, ${repeats} of them more than once under the same key.`,
    `At most ${depthMax} jobs waited; the longest lock was ${(lockedMs / 1_000).toFixed(1)} s; ${ticks} ticks took ${Math.round(tickMs)} ms on average.`,
    ...(problems.length === 0
      ? [`Nothing is broken. With 95 % confidence fewer than ${shareOf(jobs)} of jobs would be (3/n, n = ${jobs}).`]
      : ["", "Broken:", ...problems.map((problem) => `- ${problem}`)]),
  ].join("\n");
}

/** No failure in n trials bounds the rate at 3/n. */
const shareOf = (trials) => `1 in ${Math.floor(trials / 3).toLocaleString("en")}`;
