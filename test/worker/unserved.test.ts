// Queues and handlers that do not meet are told when the worker starts.
import { createWorker, defineJob, handle, type WorkerEvents } from "fairmill";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { keepingLogger } from "../support/jobs.js";

const db = useDatabase();
const mail = handle(defineJob({ kind: "mail", queue: "mails" }), () => undefined);
const picture = handle(defineJob({ kind: "picture", queue: "pictures" }), () => undefined);

async function startAndStop(queues: Record<string, object> | undefined) {
  const logger = keepingLogger();
  const worker = createWorker({
    databaseUrl: db.url,
    handlers: [mail, picture],
    logger,
    ...(queues && { queues }),
  });
  const events: WorkerEvents["unserved"][0][] = [];
  worker.events.on("unserved", (event) => events.push(event));
  await worker.start();
  await worker.stop();
  const lines = logger.lines.filter(
    ({ facts }) => "kinds" in facts && "worker" in facts && Array.isArray(facts["queues"]),
  );
  return { lines, events, id: worker.id };
}

describe("at its start a worker tells", () => {
  test("a queue that no handler's job has", async () => {
    const { lines, events, id } = await startAndStop({ mails: {}, pictures: {}, mials: { concurrency: 5 } });
    expect(lines).toEqual([
      {
        level: "warn",
        message:
          'Check the names of the queues: no handler\'s job has the queue "mials", so this worker finds nothing there',
        facts: { worker: id, queues: ["mials"], kinds: [] },
      },
    ]);
    expect(events).toEqual([{ worker: id, queues: ["mials"], kinds: [] }]);
  });

  test("handlers whose queue it does not serve: another worker may do them on purpose", async () => {
    const { lines, events, id } = await startAndStop({ mails: {} });
    expect(lines).toMatchObject([{ level: "info", facts: { worker: id, queues: [], kinds: ["picture"] } }]);
    expect(events).toEqual([{ worker: id, queues: [], kinds: ["picture"] }]);
  });

  test("both in one line: a name that was misspelled", async () => {
    const { lines } = await startAndStop({ mials: {}, pictures: {} });
    expect(lines).toMatchObject([{ level: "warn", facts: { queues: ["mials"], kinds: ["mail"] } }]);
  });

  test("nothing where they fit", async () => {
    expect(await startAndStop({ mails: {}, pictures: {} })).toMatchObject({ lines: [], events: [] });
    expect(await startAndStop(undefined)).toMatchObject({ lines: [], events: [] });
  });
});
