// What a screen shows when it cannot show data, and what it may show to whom.
import { describe, expect, test } from "vitest";
import { waitUntil } from "../support/wait.js";
import { expectNoFaults, settled, textOf, useWindow } from "./fixture/window.js";

const looked = useWindow();

describe("failures", () => {
  test("a failing server is named with its code, and Try again brings the data", async () => {
    looked.fixture.mode = "fault";
    await looked.open("#/queues");
    expect(await textOf(looked.page)).toContain("FAIRMILL_HTTP_FAULT");
    looked.fixture.mode = "busy";
    await looked.page.getByRole("button", { name: "Try again" }).first().click();
    await looked.page.getByText("stickers").first().waitFor();
  });

  test("what was read before stays on the screen under the failure", async () => {
    await looked.open("#/queues");
    looked.fixture.mode = "fault";
    looked.fixture.announce("change", { at: "", topics: ["jobs"], jobs: null });
    await looked.page.getByText("FAIRMILL_HTTP_FAULT").first().waitFor();
    expect(await textOf(looked.page)).toContain("stickers");
  });

  test("a refusal says which role it needs", async () => {
    looked.fixture.mode = "forbidden";
    await looked.open("#/jobs");
    expect(await textOf(looked.page)).toContain("This needs the role operator");
  });

  test("a list that took too long shows what it found, with the notice", async () => {
    looked.fixture.mode = "slow";
    await looked.open("#/jobs");
    const shown = await textOf(looked.page);
    expect(shown).toContain("Looking took longer than 2 s");
    expect(shown).toContain("4218377");
  });

  test("a server without records says so in every place that needs them", async () => {
    looked.fixture.mode = "unwired";
    for (const hash of ["#/now", "#/tenants", "#/workers", "#/alerts", "#/money", "#/limits"]) {
      await looked.open(hash);
      expect(await textOf(looked.page), hash).toContain("Not recorded here");
    }
    expectNoFaults(looked);
  });

  test("an answer of another shape breaks its own screen and no other", async () => {
    looked.fixture.mode = "broken";
    await looked.open("#/queues");
    await looked.page.getByText("This screen could not be drawn").waitFor();
    await looked.page.getByRole("link", { name: "Outbox" }).click();
    await looked.page.getByRole("heading", { name: "Outbox", level: 1 }).waitFor();
    await looked.page.getByText("to resolve").first().waitFor();
  });

  test("an address that names no screen, and one that cannot be decoded, are answered", async () => {
    await looked.open("#/constructor");
    expect(await textOf(looked.page)).toContain("There is no screen constructor");
    await looked.open("#/tenants/%E0%A4%A?span=__proto__");
    expect(await textOf(looked.page)).toContain("%E0%A4%A");
    expectNoFaults(looked);
  });
});

describe("S8 roles", () => {
  const ACTIONS =
    /^(Retry|Cancel|Run as new|Pause|Resume|Run now|Approve|Refuse|Send again|It arrived|Silence 1 h|Retry all …|Set|Grant)$/;
  const PLACES = [
    "#/jobs",
    "#/jobs/4218363",
    "#/queues",
    "#/schedules",
    "#/approvals",
    "#/outbox/90412",
    "#/alerts",
    "#/errors",
    "#/tenants/globex",
    "#/money/user-2",
  ];
  const actionsAt = async (hash: string) => {
    await looked.open(hash);
    return looked.page.locator("main").getByRole("button", { name: ACTIONS }).allInnerTexts();
  };

  test("a viewer sees everything and is offered nothing", async () => {
    looked.fixture.role = "viewer";
    for (const hash of PLACES) {
      expect(await actionsAt(hash), hash).toEqual([]);
      expect(await looked.page.getByRole("checkbox").count(), hash).toBe(0);
    }
  });

  test("an operator is offered actions, and no settings", async () => {
    looked.fixture.role = "operator";
    expect(await actionsAt("#/jobs/4218363")).toEqual(["Cancel", "Run as new"]);
    expect((await actionsAt("#/queues")).length).toBeGreaterThan(5);
    expect(await actionsAt("#/tenants/globex")).toEqual(["Pause"]);
    expect(await actionsAt("#/money/user-2")).toEqual([]);
  });

  test("an admin is offered settings, too", async () => {
    expect(await actionsAt("#/tenants/globex")).toEqual(["Pause", "Set"]);
    expect(await actionsAt("#/money/user-2")).toEqual(["Grant"]);
  });

  test("S6 a credential of one tenant is not shown the screens of all", async () => {
    looked.fixture.tenant = "acme";
    await looked.open("#/now");
    const screens = await looked.page.getByRole("navigation", { name: "Screens" }).innerText();
    expect(screens).toContain("Tenants");
    for (const hidden of ["Queues", "Limits", "Workers", "Audit", "Alerts"]) expect(screens).not.toContain(hidden);
    await looked.open("#/workers");
    expect(await textOf(looked.page)).toContain("your credential is for one");
    expectNoFaults(looked);
  });

  test("who is not known signs in: a wrong secret is refused, the right one opens the screen that was asked for", async () => {
    looked.fixture.secret = "correct horse";
    await looked.page.goto(`${looked.address}?sign-in#/queues`);
    await looked.page.getByLabel("Name").and(looked.page.locator(":focus")).waitFor();
    await looked.page.keyboard.type("ana");
    await looked.page.keyboard.press("Tab");
    await looked.page.keyboard.type("wrong");
    await looked.page.keyboard.press("Enter");
    await looked.page.getByText("Name or secret is not right.").waitFor();
    await looked.page.getByLabel("Secret").fill("correct horse");
    await looked.page.getByRole("button", { name: "Sign in" }).click();
    await looked.page.getByRole("heading", { name: "Queues", level: 1 }).waitFor();
    await looked.page.getByRole("button", { name: "Sign out" }).click();
    await looked.page.getByRole("heading", { name: "Sign in" }).waitFor();
    expectNoFaults(looked);
  });
});

test.each([
  ["outbox?status=failed&tenant=acme", "No messages yet"],
  ["flows?state=failed", "No flows"],
  ["audit?actor=ana", "Nothing was done by hand"],
  ["limits?scope=kind", "Nothing is limited"],
  ["workers?state=lost", "No workers"],
])("%s: a list that its filters leave empty says so, and takes them off", async (address, without) => {
  looked.fixture.mode = "empty";
  await looked.open(`#/${address}`);
  expect(await textOf(looked.page)).not.toContain(without);
  await looked.page.getByText("Nothing matches the filters").waitFor();
  await looked.page.getByRole("link", { name: "Take them off" }).click();
  await looked.page.getByText(without).waitFor();
  expect(looked.page.url()).not.toContain("?state");
  expectNoFaults(looked);
});

describe("live", () => {
  test("news of a topic brings what changed, and news of another does not", async () => {
    looked.fixture.mode = "empty";
    await looked.open("#/queues");
    await waitUntil("the page listens", () => looked.fixture.listening === 1);
    looked.fixture.mode = "busy";
    let asked = 0;
    const count = () => {
      asked += 1;
    };
    looked.page.on("request", count);
    looked.fixture.announce("change", { at: "", topics: ["audit"], jobs: null });
    looked.fixture.announce("change", { at: "", topics: ["workers"], jobs: null });
    await looked.page.getByText("stickers").first().waitFor();
    looked.page.off("request", count);
    // Queues and kinds, and the figures of the sidebar: each once.
    expect(asked).toBeLessThanOrEqual(3);
  });

  test("a hidden page listens to nothing; seen again it listens and asks anew", async () => {
    await looked.open("#/queues");
    await waitUntil("the page listens", () => looked.fixture.listening === 1);
    const hide = (hidden: boolean) =>
      looked.page.evaluate((value) => {
        Object.defineProperty(document, "hidden", { value, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }, hidden);
    await hide(true);
    await waitUntil("nothing listens", () => looked.fixture.listening === 0);
    looked.fixture.mode = "empty";
    await hide(false);
    await waitUntil("the page listens", () => looked.fixture.listening === 1);
    await looked.page.getByText("No queues yet").waitFor();
  });

  test("paused by hand it stays as it is until it goes on", async () => {
    await looked.open("#/queues");
    await waitUntil("the page listens", () => looked.fixture.listening === 1);
    await looked.page.getByRole("button", { name: "Live", exact: true }).click();
    await waitUntil("nothing listens", () => looked.fixture.listening === 0);
    await looked.page.getByRole("button", { name: "Paused" }).click();
    await waitUntil("the page listens", () => looked.fixture.listening === 1);
    await settled(looked.page);
  });
});
