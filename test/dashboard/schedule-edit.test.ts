// Editing a schedule in the dashboard: what it will do is seen before it is saved, and only what changed is sent.
import { expect, test } from "vitest";
import { waitUntil } from "../support/wait.js";
import { expectNoFaults, useWindow } from "./fixture/window.js";

const looked = useWindow({ base: "/ops/mill/", always: true });
const call = (path: RegExp) =>
  waitUntil(`a call of ${path}`, () => looked.fixture.calls.find((one) => path.test(one.path)));
const dialog = () => looked.page.getByRole("dialog");

test("an edit shows the next five runs before it is saved, and sends what changed with what it was based on", async () => {
  await looked.open("#/schedules");
  await looked.page.getByRole("button", { name: "Edit", exact: true }).first().click();
  await dialog().getByLabel("Cron").fill("0 4 * * *");
  await dialog().getByRole("list", { name: "Next five runs" }).getByRole("listitem").nth(4).waitFor();
  expect(looked.fixture.calls, "a look changes nothing").toEqual([]);
  await dialog().getByRole("button", { name: "Save" }).click();
  const { method, body } = await call(/^schedules\/nightly-report\/change$/);
  expect(method).toBe("POST");
  expect(body).toEqual({ cron: "0 4 * * *", unchangedSince: expect.any(String) });
  expectNoFaults(looked);
});

test("an edited input is sent as JSON, never as what is none, and an edit that changes nothing sends nothing", async () => {
  await looked.open("#/schedules");
  const edit = looked.page.getByRole("button", { name: "Edit", exact: true }).first();
  await edit.click();
  await dialog().getByLabel("Input").waitFor();
  await dialog().getByRole("button", { name: "Save" }).click();
  await dialog().waitFor({ state: "detached" });
  expect(looked.fixture.calls).toEqual([]);
  await edit.click();
  await dialog().getByLabel("Input").fill("{not json");
  await dialog().getByRole("button", { name: "Save" }).click();
  await dialog().getByText("The input is not JSON").waitFor();
  await dialog().getByLabel("Input").fill('{"days":1}');
  await dialog().getByRole("button", { name: "Save" }).click();
  expect((await call(/change$/)).body).toMatchObject({ input: { days: 1 } });
  expectNoFaults(looked);
});
