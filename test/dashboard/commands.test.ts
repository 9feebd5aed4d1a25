// What "Copy as CLI" puts on the clipboard is a command that there is.
import { expect, test } from "vitest";
import { cli, scratchFolder } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";
import { SCREENS } from "./fixture/screens.js";
import { useWindow } from "./fixture/window.js";

const db = useDatabase();
const looked = useWindow();

test("every screen copies a command that is called as it can be", async () => {
  const copied = new Set<string>();
  for (const { hash } of SCREENS) {
    await looked.open(hash);
    await looked.page.getByRole("button", { name: "Copy as CLI" }).click();
    copied.add(await looked.page.evaluate(() => navigator.clipboard.readText()));
  }
  expect(copied).toContain("fairmill bulk get 41");
  const cwd = await scratchFolder();
  const wrong: string[] = [];
  for (const text of copied) {
    const { code, stdout, stderr } = await cli(text.split(" ").slice(1), { cwd, env: { DATABASE_URL: db.url } });
    if (code === 2 || stdout.startsWith("Usage:")) wrong.push(`${text}: ${stderr}`);
  }
  expect(wrong).toEqual([]);
});
