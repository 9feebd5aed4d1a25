// axe on every screen, light and dark: nothing serious.
import axe from "axe-core";
import { describe, expect, test } from "vitest";
import { SCREENS } from "./fixture/screens.js";
import { useWindow } from "./fixture/window.js";

const looked = useWindow();

interface Finding {
  readonly id: string;
  readonly impact?: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

async function findings(rules?: readonly string[]): Promise<string[]> {
  await looked.page.evaluate(axe.source);
  const found = await looked.page.evaluate(async (only) => {
    const run = (window as unknown as { axe: { run: (options: object) => Promise<{ violations: Finding[] }> } }).axe
      .run;
    return (await run({ resultTypes: ["violations"], ...(only ? { runOnly: { type: "rule", values: only } } : {}) }))
      .violations;
  }, rules);
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 4)
          .map(({ html, failureSummary }) => `${html.slice(0, 140)} (${failureSummary?.split("\n")[1]?.trim()})`)
          .join(" | ")}`,
    );
}

describe("axe", () => {
  test.each(SCREENS)("$name, light", async ({ hash }) => {
    await looked.open(hash);
    expect(await findings()).toEqual([]);
  });

  test.each(SCREENS)("$name, dark: contrast", async ({ hash }) => {
    await looked.page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
    await looked.open(hash);
    // Colours that the browser is still changing would be judged in between.
    await looked.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    expect(await findings(["color-contrast"])).toEqual([]);
  });

  test("the dialogs", async () => {
    await looked.open("#/jobs?state=dead");
    await looked.page.keyboard.press("?");
    expect(await findings()).toEqual([]);
    await looked.page.keyboard.press("Escape");
    await looked.page.keyboard.press("Control+k");
    expect(await findings()).toEqual([]);
    await looked.page.keyboard.press("Escape");
    await looked.page
      .getByRole("region", { name: "Act on many" })
      .getByRole("button", { name: /^Cancel/ })
      .click();
    await looked.page.getByRole("dialog").getByText("214 jobs").waitFor();
    expect(await findings()).toEqual([]);
  });
});
