// Every screen in the dark: text stands out from what is behind it.
import { expect, test } from "vitest";
import { findings } from "./fixture/axe.js";
import { SCREENS } from "./fixture/screens.js";
import { useWindow } from "./fixture/window.js";

const looked = useWindow({ scheme: "dark" });

test.each(SCREENS)("$name has enough contrast", async ({ hash }) => {
  await looked.open(hash);
  expect(await looked.page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)).toBe(
    "rgb(13, 16, 21)",
  );
  expect(await findings(looked.page, ["color-contrast"])).toEqual([]);
});
