// News by topic inside a process.
import { expect, test } from "vitest";
import { Bus } from "../../src/base/bus.js";

interface News {
  wake: string;
  due: number;
}

test("every listener of a topic hears its news, in the order in which they came, and no other topic's", () => {
  const bus = new Bus<News>();
  const heard: string[] = [];
  bus.tell("wake", "nobody listens");
  bus.on("wake", (queue) => heard.push(`first ${queue}`));
  bus.on("wake", (queue) => heard.push(`second ${queue}`));
  bus.on("due", (ms) => heard.push(`due ${ms}`));
  bus.tell("wake", "mails");
  bus.tell("due", 5);
  expect(heard).toEqual(["first mails", "second mails", "due 5"]);
});

test("a listener that leaves, also while news are told, hears nothing more, and the others all of it", () => {
  const bus = new Bus<News>();
  const heard: string[] = [];
  const leave = bus.on("wake", (queue) => {
    heard.push(`first ${queue}`);
    leave();
  });
  bus.on("wake", (queue) => heard.push(`second ${queue}`));
  bus.tell("wake", "a");
  bus.tell("wake", "b");
  expect(heard).toEqual(["first a", "second a", "second b"]);
});
