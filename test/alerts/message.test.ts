// The sentence of an alert says what is true: above the threshold, and while it only waits to be clear.
import { expect, test } from "vitest";
import { messageOf } from "../../src/alerts/message.js";
import { rulesInForce } from "../../src/alerts/rule.js";

const rule = rulesInForce().find(({ unit }) => unit === "ratio")!;
const said = (value: number) =>
  messageOf({ ...rule, above: 0.05, clearAt: 0.04 }, "mail", { value, detail: undefined });

test("above its threshold it says the value", () => {
  expect(said(0.061)).toBe(`${rule.description}: mail, 6.1 %`);
});

test("between the threshold and where it is clear it does not claim to be above", () => {
  expect(said(0.048)).toBe(`${rule.description}: mail was above, is at 4.8 % now, clear at 4 %`);
  expect(said(0.05)).toContain("was above, is at 5 % now");
});
