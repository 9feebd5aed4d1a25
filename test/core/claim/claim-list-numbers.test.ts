// A number is used again when nothing of its list is left, and never before.
import { expect, test } from "vitest";
import { ClaimListNumbers } from "../../../src/core/claim/claim-list-numbers.js";

test("a number is free again when the last job of its list is settled, not before", () => {
  const numbers = new ClaimListNumbers();
  const first = numbers.take();
  numbers.fill(first, 2);
  const second = numbers.take();
  expect(second).not.toBe(first);
  numbers.settled(first);
  expect(numbers.take()).not.toBe(first);
  numbers.settled(first);
  expect(numbers.take()).toBe(first);
});

test("whatever is said twice, a number is never given to two claims", () => {
  const numbers = new ClaimListNumbers();
  const first = numbers.take();
  numbers.fill(first, 1);
  numbers.settled(first);
  numbers.settled(first);
  expect(numbers.take()).toBe(first);
  expect(numbers.take()).not.toBe(first);
});

test("a claim that brought nothing gives its number back; one that was not answered keeps it for good", () => {
  const numbers = new ClaimListNumbers();
  const unanswered = numbers.take();
  const empty = numbers.take();
  numbers.fill(empty, 0);
  expect(numbers.take()).toBe(empty);
  expect(numbers.take()).not.toBe(unanswered);
});
