// A keeper of steps that writes what a job reported before the job gives its slot up to sleep or to wait: afterwards it does not run any more, and nothing of it
// would be taken. What a job said last before it waits for an answer is its question.
import type { ProgressKeeper } from "../core/settle/progress.js";
import type { StepKeeper } from "./step.js";

export const progressFirst = (keeper: StepKeeper, progress: Pick<ProgressKeeper, "flush">): StepKeeper => ({
  stepsMax: keeper.stepsMax,
  read: (claim, isOver) => keeper.read(claim, isOver),
  store: (claim, step, isOver) => keeper.store(claim, step, isOver),
  pause: async (claim, step, isOver) => {
    await progress.flush(claim);
    return keeper.pause(claim, step, isOver);
  },
});
