// The commands about batches and flows.
import { createClient, defineFlow, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { cli, jsonOf } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";
import { claim, register, settle } from "../support/sql/calls.js";

const db = useDatabase();
const run = (...args: string[]) => cli(args, { env: { DATABASE_URL: db.url, COLUMNS: "100" } });
const work = defineJob<{ n: number }>({ kind: "work" });
const fill = (count: number) => async (batch: { add: (job: typeof work, input: { n: number }) => Promise<void> }) => {
  for (let n = 0; n < count; n++) await batch.add(work, { n });
};

/** A diamond whose second node dies. */
const album = defineFlow({ name: "album" }, (flow) => {
  const fetch = flow.job("fetch", work, () => ({ n: 1 }));
  const resize = flow.job("resize", work, () => ({ n: 2 }), { after: [fetch] });
  const caption = flow.job("caption", work, () => ({ n: 3 }), { after: [fetch] });
  flow.job("publish", work, () => ({ n: 4 }), { after: [resize, caption] });
});

/** Claims what is ready and settles it: inputs in `dead` die. */
async function workOff(dead: readonly number[] = []): Promise<void> {
  const jobs = await claim(db, "w", 100);
  for (const job of jobs) {
    const { n } = job.payload as { n: number };
    await settle(db, "w", [job], dead.includes(n) ? "dead" : "done", [{ error: { message: "no" } }]);
  }
}

test("nothing there, nothing that fits, no such batch: told with what to do", async () => {
  expect(await run("batches")).toEqual({
    ...{ code: 0, stderr: "" },
    stdout: "There are no batches yet. client.batches.create stores one: see the guide.\n",
  });
  expect((await run("flows", "--state", "failed")).stdout).toBe(
    "No flow fits these filters. Leave one out, or see all of them: fairmill flows\n",
  );
  expect(jsonOf(await run("flows", "--json"))).toEqual({ flows: [], next: null });
  for (const args of [
    ["batches", "get", "77"],
    ["batches", "cancel", "77"],
    ["flows", "get", "77"],
    ["flows", "retry", "77"],
    ["flows", "cancel", "77"],
  ]) {
    const { code, stderr } = await run(...args);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `error: There is no ${args[0] === "flows" ? "flow" : "batch"} 77: it may have been removed with the history.\n`,
    });
  }
  expect(jsonOf(await run("flows", "get", "77", "--json"))).toMatchObject({
    error: { code: "FAIRMILL_BATCH_NOT_FOUND" },
  });
});

test("batches: a list in pages with filters, one in full, and the end of one", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await register(db, "w");
  const first = await client.batches.create({ name: "import" }, fill(2));
  await workOff([1]);
  const second = await client.batches.create(
    { name: "export\u001b[2J", tenant: "acme", onComplete: { job: work, input: { n: 9 } } },
    fill(3),
  );
  const shown = (await run("batches")).stdout.split("\n").map((line) => line.replaceAll(/ {2,}/g, "|"));
  expect(shown).toEqual([
    "ID|STATE|NAME|TENANT|DONE|DEAD|CANCELLED|LIVE|CREATED|ENDED",
    expect.stringMatching(new RegExp(`^${second.id}\\|pending\\|export\\\\x1b\\[2J\\|acme\\|0\\|0\\|0\\|3\\|.* ago$`)),
    expect.stringMatching(new RegExp(`^${first.id}\\|failed\\|import\\|default\\|1\\|1\\|0\\|0\\|.* ago\\|.* ago$`)),
    "",
  ]);
  const page = jsonOf<{ batches: { id: string }[]; next: string }>(await run("batches", "--limit", "1", "--json"));
  expect([page.batches.map(({ id }) => id), page.next]).toEqual([[second.id], second.id]);
  const filtered = [
    ["--before", second.id],
    ["--state", "failed"],
    ["--tenant", "default"],
  ];
  for (const filter of filtered)
    expect(jsonOf(await run("batches", ...filter, "--json")), filter.join(" ")).toMatchObject({
      batches: [{ id: first.id }],
    });

  const cancelled = await run("batches", "cancel", second.id);
  expect(cancelled).toMatchObject({ code: 0, stdout: `The batch ${second.id} is over: cancelled.\n` });
  expect((await run("batches", "cancel", second.id)).stdout).toBe(
    `The batch ${second.id} had ended before: cancelled.\n`,
  );
  const one = (await run("batches", "get", second.id)).stdout;
  expect(one).toContain(`Batch ${second.id}\n  state    cancelled\n  name     export\\x1b[2J\n  tenant   acme\n`);
  expect(one).toContain("  jobs     0 done, 0 dead, 3 cancelled, 0 live\n");
  expect(one).toMatch(/ {2}called {3}complete: job \d+\n/);
  expect(jsonOf(await run("batches", "get", first.id, "--json"))).toMatchObject({ id: first.id, done: 1, dead: 1 });
});

test("a batch whose job runs is over when that has ended", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await register(db, "w");
  const { id } = await client.batches.create({}, fill(2));
  const [job] = await claim(db, "w", 1);
  expect(await run("batches", "cancel", id)).toMatchObject({
    code: 0,
    stdout: `The batch ${id} ends with the jobs that still run, 1: they were asked to stop.\n`,
  });
  await settle(db, "w", [job!], "cancelled");
  expect(jsonOf(await run("batches", "get", id, "--json"))).toMatchObject({ state: "cancelled", cancelled: 2 });
});

test("flows: a picture, a retry from what failed or from a node, and the end of one", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await register(db, "w");
  const { id } = await client.flows.start(album, {});
  await workOff();
  expect(await run("flows", "retry", id)).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("no node of it failed or was cancelled"),
  });
  expect((await run("flows", "retry", id, "--from", "fetch")).stderr).toContain("one of these nodes runs");
  await workOff([3]);

  const { code, stdout } = await run("flows", "get", id);
  expect(code).toBe(0);
  expect(stdout).toContain(`Flow ${id}\n  state    failed\n  name     album\n`);
  expect(stdout.slice(stdout.indexOf("\n\n") + 2)).toBe(`✓    fetch    succeeded, 1 done
├─╮
✓ │  resize   succeeded, 1 done
│ ✗  caption  failed, 1 dead
├─╯
○    publish  skipped, after resize, caption

✓ succeeded  ✗ failed  ○ skipped
Run it again: fairmill flows retry ${id}
`);
  const json = jsonOf<{ nodes: { name: string; state: string }[] }>(await run("flows", "get", id, "--json"));
  expect(json.nodes.map(({ name, state }) => `${name} ${state}`)).toEqual([
    ...["fetch succeeded", "resize succeeded", "caption failed", "publish skipped"],
  ]);
  expect(jsonOf(await run("flows", "--state", "failed", "--json"))).toMatchObject({ flows: [{ id, name: "album" }] });
  expect(jsonOf(await run("batches", "--json"))).toEqual({ batches: [], next: null });
  expect((await run("batches", "get", id)).stdout).toContain(`Its nodes: fairmill flows get ${id}\n`);

  expect((await run("flows", "retry", id, "--from", "zebra")).stderr).toContain('it has no node "zebra"');
  expect(await run("flows", "retry", id)).toMatchObject({ code: 0, stdout: `The flow ${id} runs again: 2 nodes.\n` });
  await workOff();
  expect(await run("flows", "cancel", id)).toMatchObject({ code: 0, stdout: `The flow ${id} is over: cancelled.\n` });
  expect(jsonOf(await run("flows", "retry", id, "--from", "publish", "--json"))).toEqual({
    id,
    answer: "started",
    nodes: 1,
  });
  await workOff();
  expect((await client.flows.get(id))?.state).toBe("succeeded");
});

test("a batch is no flow, and says where to look", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const { id } = await client.batches.create({}, fill(1));
  for (const word of ["get", "retry", "cancel"])
    expect(await run("flows", word, id)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${id} is a batch, no flow. See it with "fairmill batches get ${id}".`),
    });
  expect((await client.batches.get(id))?.state).toBe("pending");
});

test.each([
  ["batches", "get"],
  ["batches", "17"],
  ["batches", "get", "1", "2"],
  ["batches", "cancel", "abc"],
  ["batches", "cancel", "1", "--state", "failed"],
  ["batches", "--state", "waiting"],
  ["flows", "retry"],
  ["flows", "draw", "1"],
  ["flows", "get", "1", "--from", "a"],
  ["flows", "--limit", "0"],
])("is wrong usage: %s %s %s", async (...args) => {
  const { code, stderr } = await run(...args);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^error: .+\nSee "fairmill (batches|flows)( \w+)? --help"\.\n$/);
});
