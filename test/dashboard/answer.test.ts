// The page of a signed link, in a real browser: a person without a credential reads one question and answers it; opening the page answers nothing.
import { expect, test } from "vitest";
import { waitUntil } from "../support/wait.js";
import { findings } from "./fixture/axe.js";
import { expectNoFaults, textOf, useWindow } from "./fixture/window.js";

const looked = useWindow({ base: "/ops/mill/", always: true });
const LINK = "#/answer/fma_t0k";
const button = (name: string) => looked.page.getByRole("button", { name, exact: true });

test("shows the question without signing in, takes one answer with a comment, and then no other", async () => {
  looked.fixture.secret = "of the signed in";
  await looked.open(LINK);
  await looked.page
    .getByRole("heading", { name: "Close invoice 2026-1107 over 48,200 EUR? It is 3× the usual amount." })
    .waitFor();
  expect(await textOf(looked.page)).toContain("for globex");
  expect(await looked.page.getByRole("link").count()).toBe(0);
  expect(looked.fixture.calls, "looking changes nothing").toEqual([]);
  expect(await findings(looked.page)).toEqual([]);
  await looked.page.getByLabel("Comment (optional)").fill(" Ask Ann first ");
  await button("Refuse").click();
  await looked.page.getByText("Your answer was sent.").waitFor();
  expect(looked.fixture.calls).toEqual([
    { method: "POST", path: "answer", body: { approved: false, comment: "Ask Ann first" } },
  ]);
  expect(await looked.page.getByRole("button").count()).toBe(0);
  expectNoFaults(looked);
});

test("says of a link that is over that it is, on a phone as well", async () => {
  await looked.page.setViewportSize({ width: 375, height: 700 });
  await looked.open("#/answer/fma_other");
  await looked.page.getByRole("heading", { name: "This link is not valid" }).waitFor();
  expect(await looked.page.getByRole("button").count()).toBe(0);
  await looked.open(LINK);
  await button("Approve").waitFor();
  const width = await looked.page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  expect(width).toBeLessThanOrEqual(0);
  expectNoFaults(looked);
});

test("S10 renders a hostile question as text", async () => {
  looked.fixture.mode = "hostile";
  await looked.open(LINK);
  await button("Approve").waitFor();
  const found = await looked.page.evaluate(() => ({
    ran: (window as unknown as { __ran?: number }).__ran ?? null,
    foreign: document.querySelectorAll("#app :is(script, style, iframe, object, embed, base, meta, link, img)").length,
  }));
  expect(found).toEqual({ ran: null, foreign: 0 });
  expectNoFaults(looked);
});

test("an operator copies the link of a question from the inbox", async () => {
  await looked.open("#/approvals");
  await button("Signed link").first().click();
  const copied = () => looked.page.evaluate(() => navigator.clipboard.readText());
  await waitUntil("the link is on the clipboard", async () => (await copied()) === `${looked.address}${LINK}`);
  expect(looked.fixture.calls).toEqual([
    { method: "POST", path: "jobs/4218377/answer-link", body: { name: "approved", for: "24h" } },
  ]);
  expectNoFaults(looked);
});
