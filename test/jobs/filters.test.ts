// What is listed is what was asked for: a filter that cannot be meant is refused, and never means everything.
import { createClient, defineJob } from "fairmill";
import { afterEach, beforeEach, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";

const db = useDatabase();
let client: ReturnType<typeof createClient>;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
});
afterEach(() => client.close());

type Given = Record<string, unknown>;

/** What can be listed, and by which members of its filter. */
const LISTS: Record<string, { list: (filter: Given) => Promise<unknown[]>; names: string[]; ids: string[] }> = {
  jobs: {
    list: (filter) => client.jobs.list(filter),
    names: ["tenant", "queue", "kind", "state", "tag", "errorCode", "errorText"],
    ids: ["before", "batch"],
  },
  batches: { list: (filter) => client.batches.list(filter), names: ["tenant", "state", "role"], ids: ["before"] },
  outbox: { list: (filter) => client.outbox.list(filter), names: ["tenant", "channel", "status"], ids: ["before"] },
  tenants: { list: (page) => client.tenants.list(page), names: ["after"], ids: [] },
  queues: { list: (page) => client.queues.list(page), names: ["after"], ids: [] },
  kinds: { list: (page) => client.kinds.list(page), names: ["after"], ids: [] },
  schedules: { list: (page) => client.schedules.list(page), names: ["after"], ids: [] },
  statement: { list: (page) => client.credits.statement("a", page), names: [], ids: ["before"] },
};

const refused = (setting: string) => expect.objectContaining({ code: "FAIRMILL_CONFIG", setting });

test.each(Object.keys(LISTS))("%s: null, an empty text and other types are refused by name", async (name) => {
  const { list, names, ids } = LISTS[name]!;
  for (const member of [...names, ...ids])
    for (const value of [null, "", 0.5, [], ["1"], {}, true, "a\0"])
      await expect(list({ [member]: value }), `${member}: ${JSON.stringify(value)}`).rejects.toEqual(refused(member));
  for (const limit of [null, 0, 201, -1, 1.5, "5", Number.NaN, Number.POSITIVE_INFINITY])
    await expect(list({ limit }), `limit ${limit}`).rejects.toEqual(refused("limit"));
});

test.each(Object.keys(LISTS))("%s: an unknown member is refused, with the one that was meant", async (name) => {
  const { list, names, ids } = LISTS[name]!;
  const member = [...names, ...ids][0]!;
  await expect(list({ [`${member}s`]: "x" })).rejects.toThrow(`Did you mean "${member}"?`);
});

test.each(Object.keys(LISTS))("%s: a member that is undefined is not asked for", async (name) => {
  const { list, names, ids } = LISTS[name]!;
  const nothing = Object.fromEntries([...names, ...ids, "limit"].map((member) => [member, undefined]));
  expect(await list(nothing)).toEqual(await list({}));
});

test("a tenant that is null lists no jobs, batches and messages", async () => {
  const job = defineJob<object>({ kind: "j" });
  await client.enqueue(job, {}, { tenant: "acme" });
  await client.batches.create({ tenant: "acme" }, (batch) => batch.add(job, {}));
  await client.publish("c", {}, { tenant: "acme", idempotencyKey: "k" });
  for (const thing of [client.jobs, client.batches, client.outbox]) {
    expect((await thing.list({ tenant: "acme" })).length).toBeGreaterThan(0);
    expect(await thing.list({ tenant: "bob" })).toEqual([]);
    await expect(thing.list({ tenant: null as never })).rejects.toEqual(refused("tenant"));
  }
});

test("F15: jobs are found by a tag that was given with the enqueue, live, in a batch and ended", async () => {
  const job = defineJob<object>({ kind: "j" });
  const batch = await client.batches.open();
  const { id: live } = await client.enqueue(job, {}, { tags: ["nightly", "eu"] });
  const { id: member } = await client.enqueue(job, {}, { tags: ["nightly"], batch: batch.id });
  const { id: ended } = await client.enqueue(job, {}, { tags: ["nightly"] });
  await client.enqueue(job, {}, { tags: ["night"] });
  await client.cancel(ended);
  const found = async (filter: object) => (await client.jobs.list(filter)).map(({ id }) => id);
  expect(await found({ tag: "nightly" })).toEqual([ended, member, live]);
  expect(await found({ tag: "nightly", batch: batch.id })).toEqual([member]);
  expect(await found({ tag: "eu" })).toEqual([live]);
  expect(await found({ tag: "n" })).toEqual([]);
});
