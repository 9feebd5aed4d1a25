// Every screen in a real browser: with data, without, with hostile strings in every field, on three widths.
import { describe, expect, test } from "vitest";
import { HOSTILE } from "./fixture/hostile.js";
import { SCREENS } from "./fixture/screens.js";
import { expectNoFaults, textOf, useWindow } from "./fixture/window.js";

const looked = useWindow();
/** Words that only a fault of the page writes. */
const BROKEN = /\b(undefined|NaN|Infinity|Invalid Date)\b|\[object Object\]/;

const tooWide = () =>
  looked.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

const areCut = (parts: Element[]) => parts.some((one) => one.scrollWidth > one.clientWidth + 1);

describe("F7 every screen", () => {
  test.each(SCREENS)(
    "$name shows its data, its JSON twin and its command, and asks only what the contract knows",
    async ({ hash, shows }) => {
      await looked.open(hash);
      await looked.page.getByText(shows).first().waitFor();
      expect(await textOf(looked.page)).not.toMatch(BROKEN);
      expect(await looked.page.getByRole("button", { name: "Copy as CLI" }).count()).toBe(1);
      expect(await looked.page.getByRole("link", { name: "The same as JSON" }).getAttribute("href")).toContain(
        `${looked.address}api/v1/`,
      );
      expect(await looked.page.title()).toContain("Fairmill");
      expectNoFaults(looked);
    },
  );

  test.each(SCREENS)("$name without data says what to do, and is not broken", async ({ hash }) => {
    looked.fixture.mode = "empty";
    await looked.open(hash);
    expect(await looked.page.locator("main h1").count()).toBe(1);
    expect(await textOf(looked.page)).not.toMatch(BROKEN);
    expectNoFaults(looked);
  });

  test.each(SCREENS)(
    "S10 $name renders hostile strings as text: nothing runs, nothing is reported",
    async ({ hash }) => {
      looked.fixture.mode = "hostile";
      await looked.open(hash);
      const found = await looked.page.evaluate(() => ({
        ran: (window as unknown as { __ran?: number }).__ran ?? null,
        foreign: document.querySelectorAll(
          "#app :is(script, style, iframe, object, embed, base, meta, link, img, form[action])",
        ).length,
        handlers: [...document.querySelectorAll("#app *")].filter((one) =>
          one.getAttributeNames().some((name) => /^on/.test(name) || name === "srcdoc"),
        ).length,
        schemes: [...document.querySelectorAll<HTMLAnchorElement>("#app a[href]")].filter(
          (one) => !/^https?:$/.test(one.protocol),
        ).length,
        title: document.title,
      }));
      expect(found).toMatchObject({ ran: null, foreign: 0, handlers: 0, schemes: 0 });
      expect(looked.page.url()).toContain(looked.address);
      expect(await tooWide()).toBeLessThanOrEqual(0);
      expectNoFaults(looked);
    },
  );
});

test("S10 there are fifty hostile strings, and a list shows one of them letter by letter", async () => {
  expect(HOSTILE.length).toBe(50);
  looked.fixture.mode = "hostile";
  await looked.open("#/queues");
  const shown = await textOf(looked.page);
  expect(HOSTILE.filter((text) => shown.includes(text.trim()) && text.includes("<")).length).toBeGreaterThan(3);
});

test("a tenant's page shows what its kinds earned and cost", async () => {
  await looked.open("#/tenants/globex");
  const table = looked.page.getByRole("region", { name: "Earned and spent" });
  await table.waitFor();
  expect(await table.locator("tbody tr").first().innerText()).toMatch(/^sticker\.make.*EUR/s);
  expect(looked.fixture.calls.length).toBe(0);
  expectNoFaults(looked);
});

test("D2: workers show the states that a process may be in, what may follow, and how many are in each now", async () => {
  await looked.open("#/workers");
  const table = looked.page.getByRole("region", { name: "The life of a process" });
  await table.waitFor();
  const rows = await table.locator("tbody tr").allInnerTexts();
  expect(rows.map((row) => row.split(/\s+/)[0])).toEqual(["idle", "ready", "working", "failed", "terminated"]);
  expect(rows[2]).toMatch(/ready, failed\s+5$/);
  expect(rows[4]).toMatch(/nothing else\s+0$/);
});

describe("three widths", () => {
  test.each([375, 1024, 1920])("%i pixels: no screen scrolls sideways", async (width) => {
    await looked.page.setViewportSize({ width, height: 900 });
    const wide: string[] = [];
    for (const { name, hash } of SCREENS) {
      await looked.open(hash);
      if ((await tooWide()) > 0) wide.push(name);
    }
    expect(wide).toEqual([]);
    expectNoFaults(looked);
  });

  test.each([1024, 1920])("%i pixels: no table hides a column behind its edge", async (width) => {
    await looked.page.setViewportSize({ width, height: 900 });
    const cut: string[] = [];
    for (const { name, hash } of SCREENS) {
      await looked.open(hash);
      if (await looked.page.locator(".table-frame:has(> table)").evaluateAll(areCut)) cut.push(name);
    }
    expect(cut).toEqual([]);
  });

  test("a phone: no value runs over the one beside it", async () => {
    await looked.page.setViewportSize({ width: 375, height: 900 });
    const over: string[] = [];
    for (const { name, hash } of SCREENS) {
      await looked.open(hash);
      if (await looked.page.locator(".table-frame td").evaluateAll(areCut)) over.push(name);
    }
    expect(over).toEqual([]);
  });

  test("1024 pixels: the screens are signs with names; a key that walks through them and the menu show the names", async () => {
    await looked.page.setViewportSize({ width: 1024, height: 900 });
    await looked.open("#/now");
    const side = looked.page.getByRole("navigation", { name: "Screens" });
    const widthOf = async () => (await side.boundingBox())!.width;
    expect(await widthOf()).toBe(56);
    expect(await side.getByRole("link", { name: "Queues" }).count()).toBe(1);
    await side.getByRole("link").first().focus();
    await looked.page.keyboard.press("Tab");
    expect(await widthOf()).toBe(212);
    await looked.page.mouse.click(900, 500);
    expect(await widthOf()).toBe(56);
    const menu = looked.page.getByRole("button", { name: "Menu", exact: true });
    await menu.click();
    expect(await menu.getAttribute("aria-expanded")).toBe("true");
    expect(await widthOf()).toBe(212);
    await side.getByRole("link", { name: "Queues" }).click();
    await looked.page.getByRole("heading", { name: "Queues", level: 1 }).waitFor();
    expect(await widthOf()).toBe(56);
    expectNoFaults(looked);
  });

  test("1024 pixels: what a decision was made from does not run over what it left out", async () => {
    await looked.page.setViewportSize({ width: 1024, height: 900 });
    await looked.open("#/workers");
    const boxes = await looked.page
      .locator(".decision-inputs > *")
      .evaluateAll((parts) =>
        parts.map((part) => [part.scrollWidth <= part.clientWidth, part.getBoundingClientRect()] as const),
      );
    expect(boxes.map(([fits]) => fits)).toEqual([true, true]);
    const [one, other] = boxes.map(([, box]) => box);
    expect(one!.right <= other!.left || one!.bottom <= other!.top).toBe(true);
  });

  test("on a phone the menu opens, and goes away with the choice", async () => {
    await looked.page.setViewportSize({ width: 375, height: 700 });
    await looked.open("#/now");
    await looked.page.getByRole("button", { name: "Menu" }).click();
    await looked.page.getByRole("link", { name: "Queues" }).click();
    await looked.page.getByRole("heading", { name: "Queues", level: 1 }).waitFor();
    await looked.page.getByRole("link", { name: "Outbox" }).waitFor({ state: "hidden" });
  });
});

describe("a phone", () => {
  test("a row is a card whose values have names, and stays a row to who listens; filters are folded until they are asked for", async () => {
    await looked.page.setViewportSize({ width: 375, height: 800 });
    await looked.open("#/jobs");
    const cell = looked.page.getByRole("row").nth(1).getByRole("cell").nth(3);
    expect(await cell.evaluate((one) => [one.dataset["label"], getComputedStyle(one, "::before").content])).toEqual([
      "Kind",
      '"Kind"',
    ]);
    expect(await looked.page.getByRole("columnheader", { name: "Kind" }).count()).toBe(1);
    const tag = looked.page.getByRole("textbox", { name: "Tag" });
    expect(await tag.isVisible()).toBe(false);
    await looked.page.getByRole("button", { name: "Filters" }).click();
    await tag.fill("beta");
    await tag.press("Enter");
    await looked.page.waitForURL(/tag=beta/);
    await looked.page.getByRole("button", { name: "Fewer filters" }).click();
    await looked.page.getByRole("button", { name: "Filters: 1" }).waitFor();
    expectNoFaults(looked);
  });
});

describe("a million jobs", () => {
  test("counts are lower bounds and say so; pages are cut by key", async () => {
    looked.fixture.mode = "million";
    await looked.open("#/now");
    expect(await textOf(looked.page)).toContain("1M+");
    // Five lines, of which one is for information.
    expect(await looked.page.locator(".needs li").count()).toBe(5);
    expect(await looked.page.getByRole("link", { name: "4 need you" }).count()).toBe(1);
    await looked.open("#/jobs?state=dead");
    const first = await looked.page.locator("tbody tr a.mono").first().innerText();
    await looked.page.getByRole("link", { name: "Next page" }).click();
    await looked.page.waitForFunction((id) => document.querySelector("tbody tr a.mono")?.textContent !== id, first);
    expect(looked.page.url()).toContain("cursor=");
    const second = await looked.page.locator("tbody tr a.mono").first().innerText();
    expect(Number(second)).toBeLessThan(Number(first));
    await looked.page.goBack();
    await looked.page.getByText(first).first().waitFor();
    expectNoFaults(looked);
  });
});
