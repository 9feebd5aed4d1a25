// Every action does what it says, by mouse and by keyboard alone.
import { describe, expect, test } from "vitest";
import { waitUntil } from "../support/wait.js";
import { expectNoFaults, useWindow } from "./fixture/window.js";

// Mounted below a path, as an application would do it.
const looked = useWindow({ base: "/ops/mill/", always: true });
const call = (path: RegExp) =>
  waitUntil(`a call of ${path}`, () => looked.fixture.calls.find((one) => path.test(one.path)));
const button = (name: string | RegExp) => looked.page.getByRole("button", { name, exact: typeof name === "string" });
const dialogButton = (name: string) => looked.page.getByRole("dialog").getByRole("button", { name, exact: true });

describe("actions", () => {
  test("a job is retried, and what the server answered is told", async () => {
    await looked.open("#/jobs/4218375");
    await button("Retry").click();
    expect(await call(/^jobs\/4218375\/retry$/)).toMatchObject({ method: "POST", body: {} });
    await looked.page.getByText("Job 4218375 is ready").waitFor();
    expectNoFaults(looked);
  });

  test("a cancel asks first; Escape and Keep as it is do nothing", async () => {
    await looked.open("#/jobs/4218363");
    await button("Cancel").click();
    await looked.page.keyboard.press("Escape");
    await button("Cancel").click();
    await dialogButton("Keep as it is").click();
    expect(looked.fixture.calls).toEqual([]);
    await button("Cancel").click();
    await dialogButton("Cancel").click();
    expect((await call(/cancel$/)).body).toBeUndefined();
    expectNoFaults(looked);
  });

  test("a job runs again as new: with its stored input as it is, with edited input when it was edited, never with what is no JSON", async () => {
    await looked.open("#/jobs/4218375");
    await button("Run as new").click();
    await dialogButton("Enqueue").click();
    expect((await call(/rerun$/)).body).toEqual({});
    looked.fixture.calls.length = 0;
    await button("Run as new").click();
    await looked.page.getByLabel("Input").fill("{not json");
    await dialogButton("Enqueue").click();
    await looked.page.getByText("This is not JSON").waitFor();
    expect(looked.fixture.calls).toEqual([]);
    await looked.page.getByLabel("Input").fill('{"to":"bob"}');
    await dialogButton("Enqueue").click();
    expect((await call(/rerun$/)).body).toEqual({ input: { to: "bob" } });
    expectNoFaults(looked);
  });

  test("all that match a filter: preview with a count, a reason, then a tracked action", async () => {
    await looked.open("#/jobs?state=dead&kind=sticker.make");
    await looked.page
      .getByRole("region", { name: "Act on many" })
      .getByRole("button", { name: /^Retry/ })
      .click();
    await looked.page.getByRole("dialog").getByText("retry 214 jobs").waitFor();
    expect(looked.fixture.calls, "a preview changes nothing").toEqual([]);
    await looked.page.getByLabel("Why (kept in the audit)").fill("The provider is back");
    await dialogButton("Begin").click();
    expect((await call(/^bulk$/)).body).toEqual({
      action: "retry",
      filter: { state: "dead", kind: "sticker.make" },
      reason: "The provider is back",
    });
    await looked.page.getByRole("heading", { name: "Bulk action 41" }).waitFor();
    looked.fixture.announce("bulk", {
      id: "41",
      action: "redrive",
      filter: {},
      actor: "ana",
      tenant: null,
      reason: null,
      state: "done",
      seen: 214,
      changed: 206,
      skipped: 8,
      cursor: "1",
      error: null,
      upTo: "1",
      createdAt: "2026-11-18T09:24:00.000Z",
      updatedAt: "2026-11-18T09:24:31.000Z",
      endedAt: null,
    });
    await looked.page.getByText("206 changed").waitFor();
    expectNoFaults(looked);
  });

  test("errors of one fingerprint are put back together", async () => {
    await looked.open("#/errors");
    await button(/^Retry all/)
      .first()
      .click();
    await dialogButton("Begin").click();
    expect((await call(/^bulk$/)).body).toEqual({
      action: "redrive",
      filter: { kind: "sticker.make", errorCode: "ETIMEDOUT" },
    });
  });

  test("an approval is answered, with yes or with any value", async () => {
    await looked.open("#/approvals");
    await button("Approve").first().click();
    expect((await call(/^jobs\/4218377\/signal$/)).body).toEqual({ name: "approved", value: { approved: true } });
    looked.fixture.calls.length = 0;
    await button("Other answer").nth(1).click();
    await looked.page.getByLabel("Answer, as JSON or text").fill("maybe");
    await button("Send").click();
    expect((await call(/^jobs\/4218290\/signal$/)).body).toEqual({ name: "moderated", value: "maybe" });
  });

  test("a limit is tried on the last hour, then set; an empty field takes it away", async () => {
    await looked.open("#/tenants/globex");
    await looked.page.getByLabel("At most running at once").fill("40");
    await button("Try on the last hour").click();
    await looked.page.getByText("310 of the 2210 starts").waitFor();
    expect(looked.fixture.calls).toEqual([]);
    await looked.page.getByLabel("Rate (empty: none)").fill("");
    await button("Set").click();
    expect(await call(/^tenants\/globex$/)).toMatchObject({
      method: "PUT",
      body: { weight: 1, maxRunning: 40, rate: null },
    });
  });

  test.each([
    ["#/queues", "Pause", "Pause", /^queues\/stickers\/pause$/, {}],
    ["#/schedules", "Run now", "Run now", /^schedules\/nightly-report\/run$/, undefined],
    ["#/outbox/90412", "Send again", "Send again", /^outbox\/90412\/resolve$/, { verdict: "resend" }],
    ["#/outbox/90412", "It arrived", "It arrived", /^outbox\/90412\/resolve$/, { verdict: "sent" }],
    ["#/flows/812", "Retry from here", "Retry from here", /^flows\/812\/retry$/, { from: "render-1" }],
    ["#/flows/812", "Cancel", "Cancel", /^flows\/812\/cancel$/, undefined],
    ["#/alerts", "Silence 1 h", null, /^alerts\/1\/silence$/, { for: "1h" }],
    ["#/bulk/41", "Stop", null, /^bulk\/41\/stop$/, undefined],
  ] as const)("%s: %s", async (hash, name, confirm, path, body) => {
    await looked.open(hash);
    await button(name).first().click();
    if (confirm) await dialogButton(confirm).click();
    expect((await call(path)).body).toEqual(body);
    expectNoFaults(looked);
  });

  test("a pause may have an end", async () => {
    await looked.open("#/queues");
    await button("Pause").first().click();
    await looked.page.getByRole("combobox", { name: "How long" }).selectOption("for 10 minutes");
    await dialogButton("Pause").click();
    expect((await call(/^queues\/stickers\/pause$/)).body).toEqual({ for: "10m" });
    await looked.open("#/limits");
    await looked.page
      .getByText(/^paused until /)
      .first()
      .waitFor();
    expectNoFaults(looked);
  });

  test("Copy as CLI says the same as the screen, quoted for a shell", async () => {
    await looked.open("#/jobs?state=dead&tenant=o'neil%20%26%20co");
    await button("Copy as CLI").click();
    expect(await looked.page.evaluate(() => navigator.clipboard.readText())).toBe(
      "fairmill jobs --state dead --tenant 'o'\\''neil & co'",
    );
  });
});

describe("keyboard alone", () => {
  const press = (key: string) => looked.page.keyboard.press(key);
  /** Opens the palette by a key, and types when it is there. */
  const search = async (key: string, text: string) => {
    await press(key);
    await looked.page.getByRole("combobox", { name: "A job's id" }).fill(text);
    await press("Enter");
  };
  const heading = (name: string) => looked.page.getByRole("heading", { name, level: 1 }).waitFor();

  test("g and a letter go to every screen", async () => {
    await looked.open("#/now");
    for (const [key, name] of [
      ["j", "Jobs"],
      ["t", "Tenants"],
      ["f", "Flows"],
      ["s", "Schedules"],
      ["q", "Queues"],
      ["p", "Approvals"],
      ["l", "Limits & providers"],
      ["w", "Workers & scaling"],
      ["o", "Outbox"],
      ["m", "Credits & money"],
      ["e", "Errors"],
      ["a", "Alerts"],
      ["u", "Audit"],
      ["n", "Now"],
    ] as const) {
      await press("g");
      await press(key);
      await heading(name);
    }
    expectNoFaults(looked);
  });

  test("j, k and x move and select, r retries, Enter opens", async () => {
    await looked.open("#/jobs");
    await press("j");
    await press("j");
    await press("x");
    await looked.page.getByText("1 selected").waitFor();
    await press("k");
    await press("r");
    expect((await call(/retry$/)).path).toBe("jobs/4218377/retry");
    await press("Enter");
    await heading("4218377");
  });

  test("/ and Ctrl-K find a job by id, jobs by filter, and screens; Escape gives the focus back", async () => {
    await looked.open("#/now");
    await search("/", "4218350");
    await heading("4218350");
    await search("Control+k", "tenant:acme state:dead");
    await heading("Jobs");
    await looked.page.waitForURL(/#\/jobs\?tenant=acme&state=dead$/);
    await search("Control+k", "outb");
    await heading("Outbox");
    await button("Keyboard help").focus();
    await press("/");
    await press("Escape");
    expect(await looked.page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe("Keyboard help");
  });

  test("? lists the keys of the screen; while a field has the focus, letters are letters", async () => {
    await looked.open("#/jobs");
    await press("?");
    await looked.page.getByRole("dialog").getByText("Select the job").waitFor();
    await press("Escape");
    await looked.page.getByRole("combobox", { name: "Tenant" }).focus();
    await looked.page.keyboard.type("gjx?/");
    expect(await looked.page.getByRole("combobox", { name: "Tenant" }).inputValue()).toBe("gjx?/");
    await press("Enter");
    await looked.page.getByText("No job matches").waitFor();
  });

  test("the theme is chosen by button and is kept", async () => {
    await looked.open("#/now");
    await button("Theme: system").click();
    await button("Theme: light").click();
    await looked.open("#/now");
    expect(await looked.page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
    expect(await looked.page.evaluate(() => getComputedStyle(document.body).colorScheme)).toContain("dark");
    await button("Theme: dark").click();
    await button("Theme: system").waitFor();
  });
});
