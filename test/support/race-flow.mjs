// A flow for fleets: a function that adds jobs which a rate holds back, and a node that must not begin before they have ended.
import { defineFlow, defineJob, handle, handleFlow, NonRetryableError } from "fairmill";

export const part = defineJob({
  kind: "part",
  key: (input) => `${input.n}`,
  limits: { rate: { limit: 5, per: "1s", how: "uniform" } },
});

export const over = defineJob({ kind: "over" });

export const raceFlow = defineFlow(
  { name: "race", callbacks: (input) => ({ onComplete: { job: over, input } }) },
  (flow) => {
    const gather = flow.run(
      "gather",
      async (ctx) => {
        for (let i = 0; i < 1 + (ctx.input.n % 3); i++) await ctx.batch.add(part, { n: ctx.input.n, i });
        return { parts: 1 + (ctx.input.n % 3) };
      },
      { onFailure: "continue" },
    );
    flow.run("next", async (ctx) => ({ of: await ctx.flow.result(gather) }), { after: [gather] });
  },
);

export const raceHandlers = {
  race: handleFlow(raceFlow),
  part: [
    handle(part, async ({ input, attempt }) => {
      await new Promise((resolve) => setTimeout(resolve, (input.n * 7 + input.i) % 20));
      if (input.n % 11 === 0) throw new NonRetryableError("no");
      if (input.n % 5 === 0 && attempt === 1) throw new Error("not yet");
    }),
  ],
  over: [handle(over, () => {})],
};
