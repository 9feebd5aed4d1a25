// A keeper of steps that also tells how long each took.
import type { StepKeeper } from "../steps/step.js";

export const watchSteps = (keeper: StepKeeper, onStep: (kind: string, ms: number) => void): StepKeeper => ({
  stepsMax: keeper.stepsMax,
  read: (claim, isOver) => keeper.read(claim, isOver),
  pause: (claim, step, isOver) => keeper.pause(claim, step, isOver),
  store: async (claim, step, isOver) => {
    const answer = await keeper.store(claim, step, isOver);
    if (answer.answer === "stored") onStep(claim.kind, step.tookMs);
    return answer;
  },
});
