// axe on every screen and dialog: nothing serious.
import { describe, expect, test } from "vitest";
import { findings } from "./fixture/axe.js";
import { SCREENS } from "./fixture/screens.js";
import { useWindow } from "./fixture/window.js";

const looked = useWindow();

describe("axe", () => {
  test.each(SCREENS)("$name, light", async ({ hash }) => {
    await looked.open(hash);
    expect(await findings(looked.page)).toEqual([]);
  });

  test("the dialogs", async () => {
    await looked.open("#/jobs?state=dead");
    await looked.page.keyboard.press("?");
    expect(await findings(looked.page)).toEqual([]);
    await looked.page.keyboard.press("Escape");
    await looked.page.keyboard.press("Control+k");
    expect(await findings(looked.page)).toEqual([]);
    await looked.page.keyboard.press("Escape");
    await looked.page
      .getByRole("region", { name: "Act on many" })
      .getByRole("button", { name: /^Cancel/ })
      .click();
    await looked.page.getByRole("dialog").getByText("214 jobs").waitFor();
    expect(await findings(looked.page)).toEqual([]);
  });
});
