// The command about the outbox.
import { createClient } from "fairmill";
import { expect, test } from "vitest";
import { cli, jsonOf } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";
import { settle } from "../support/sql/calls.js";
import { begin, claimDeliveries } from "./outbox-calls.js";

const db = useDatabase();
const run = (...args: string[]) => cli(args, { env: { DATABASE_URL: db.url } });
const lines = (text: string) => text.split("\n").map((line) => line.replaceAll(/ {2,}/g, "|"));

/** A message whose sender died: it is not known whether it arrived. */
async function unknown(key = "order-1"): Promise<string> {
  await using client = createClient({ databaseUrl: db.url });
  const { id } = await client.publish("mail", { to: "ann" }, { idempotencyKey: key });
  const jobs = await claimDeliveries(db, "w");
  await begin(db, "w", jobs);
  await settle(db, "w", jobs, "dead", [
    { error: { message: "gone" }, delivery: { outcome: "uncertain", error: { name: "Error", message: "gone" } } },
  ]);
  return id;
}

test("lists messages, newest first, page by page and by filter", async () => {
  expect((await run("outbox")).stdout).toBe("The outbox is empty: nothing was published, or it was long ago.\n");
  const id = await unknown();
  await using client = createClient({ databaseUrl: db.url });
  const { id: waiting } = await client.publish("mail", {}, { idempotencyKey: "order-2", orderKey: "chat" });
  expect(lines((await run("outbox")).stdout)).toEqual([
    "ID|STATUS|CHANNEL|TENANT|KEY|TRIES|JOB|PUBLISHED",
    expect.stringMatching(new RegExp(`^${waiting}\\|pending\\|mail\\|default\\|order-2\\|0\\|waits for its turn\\|`)),
    expect.stringMatching(new RegExp(`^${id}\\|unknown\\|mail\\|default\\|order-1\\|1\\|\\d+\\|`)),
    "",
  ]);
  expect((await run("outbox", "--limit", "1")).stdout).toContain(
    `Older ones: the same command with --before ${waiting}\n`,
  );
  const rest = jsonOf<{ messages: { id: string }[]; next: null }>(await run("outbox", "--before", waiting, "--json"));
  expect(rest).toMatchObject({ messages: [{ id, status: "unknown", orderKey: null }], next: null });
  expect((await run("outbox", "--status", "sent")).stdout).toContain("No message fits these filters.");
});

test("shows a message with its attempts, and what to do about one whose fate is unknown", async () => {
  const id = await unknown();
  const { stdout } = await run("outbox", "get", id);
  expect(lines(stdout)).toEqual([
    `Message ${id}: unknown`,
    "|channel|mail, tenant default",
    "|key|order-1",
    expect.stringMatching(/^\|job\|\d+$/),
    '|payload|{"to":"ann"}',
    "",
    "WHEN|ATTEMPT|BY|WHY",
    expect.stringMatching(/\|uncertain\|w\|gone$/),
    "",
    `It may have arrived. When you know: fairmill outbox resolve ${id} --as sent|failed|resend`,
    "",
  ]);
  expect(jsonOf(await run("outbox", "get", id, "--json"))).toMatchObject({ id, attempts: [{ outcome: "uncertain" }] });
  expect(await run("outbox", "get", "99999999")).toMatchObject({ code: 1 });
});

test("resolves a message, and says when there is nothing to resolve", async () => {
  const id = await unknown();
  const resolved = await run("outbox", "resolve", id, "--as", "sent", "--by", "ann", "--reason", "in their inbox");
  expect(resolved).toEqual({ code: 0, stderr: "", stdout: `Message ${id} is resolved.\n` });
  expect((await run("outbox", "get", id)).stdout).toMatch(/resolved as sent +ann +in their inbox/);
  expect(jsonOf(await run("outbox", "resolve", id, "--as", "sent", "--json"))).toEqual({
    id,
    as: "sent",
    answer: "known",
  });
  expect(await run("outbox", "resolve", id, "--as", "resend")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining(`Message ${id} `),
  });
  const other = await unknown("order-2");
  expect(await run("outbox", "resolve", other, "--as", "resend")).toMatchObject({ code: 0 });
  expect(jsonOf(await run("outbox", "--status", "pending", "--json"))).toMatchObject({ messages: [{ id: other }] });
});

test.each([
  [["outbox", "get"], "Missing required argument 'id'"],
  [["outbox", "resolve", "1"], "Required option '--as <what>' not specified"],
  [["outbox", "drop", "1"], 'has no subcommand "drop". Known: "fairmill outbox list", "fairmill outbox get"'],
  [["outbox", "--as", "sent"], "Unknown option '--as'"],
  [["outbox", "resolve", "1", "--as", "lost"], "Allowed choices"],
])("%j is refused with a word on what to write", async (args, words) => {
  const { code, stderr } = await run(...args);
  expect(code).toBe(2);
  expect(stderr).toContain(words);
});
