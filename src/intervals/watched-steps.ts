// A keeper of steps that also tells how long each took.
import type { Bus } from "../base/bus.js";
import type { WorkerNews } from "../core/worker/worker-news.js";
import type { StepKeeper } from "../steps/step.js";

declare module "../core/worker/worker-news.js" {
  interface WorkerNews {
    /** A step of a job of this kind was done, and is kept. */
    stepped: { readonly kind: string; readonly ms: number };
  }
}

export const watchSteps = (keeper: StepKeeper, bus: Bus<WorkerNews>): StepKeeper => ({
  stepsMax: keeper.stepsMax,
  read: (claim, isOver) => keeper.read(claim, isOver),
  pause: (claim, step, isOver) => keeper.pause(claim, step, isOver),
  store: async (claim, step, isOver) => {
    const answer = await keeper.store(claim, step, isOver);
    if (answer.answer === "stored") bus.tell("stepped", { kind: claim.kind, ms: step.tookMs });
    return answer;
  },
});
