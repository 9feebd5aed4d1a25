// Random graphs of up to 40 nodes, nested ones among them, with failures, retries, added members and dying workers: the order of starts
// respects every edge, every node ends as its rules say, and each callback is enqueued once.
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { dice, newSeed } from "../support/dice.js";
import { type Claimed, enqueue } from "../support/sql/calls.js";
import { runCrew } from "../support/sql/crew.js";
import { createFlow, type NodeSpec } from "./batch-calls.js";

const db = useDatabase();
const GRAPHS = Number(process.env["TEST_GRAPHS"] ?? 40);
/** As many attempts as a job of a node: the test that runs the jobs below sends them back without counting. */
const CALLBACKS = (n: number) =>
  Object.fromEntries(
    ["success", "complete", "death"].map((event) => [event, { kind: event, max_attempts: 1_000, payload: { n } }]),
  );

function randomGraph(random: () => number): NodeSpec[] {
  const pick = <T>(...choices: T[]) => choices[Math.floor(random() * choices.length)]!;
  const nodes: NodeSpec[] = [];
  const size = 1 + Math.floor(random() * 40);
  /** Places of the nodes that contain others, and how deep they lie. */
  const containers: (number | undefined)[] = [undefined];
  for (let place = 0; place < size; place++) {
    const inside = random() < 0.7 ? undefined : pick(...containers);
    const beside = nodes.flatMap((node, i) => (node.inside === inside ? [i] : []));
    const after = beside.filter(() => random() < Math.min(0.6, 3 / (beside.length + 1)));
    const isContainer = random() < 0.1 && containers.length < 4;
    if (isContainer) containers.push(place);
    nodes.push({
      name: `n${place}`,
      after,
      ...(inside === undefined ? {} : { inside }),
      when: pick("succeeded", "succeeded", "settled", after.length > 0 ? "failed" : "settled"),
      on_failure: pick("fail", "skip", "continue"),
      jobs: isContainer
        ? []
        : Array.from({ length: 1 + Math.floor(random() * 2) }, () => ({
            kind: "work",
            max_attempts: 1_000,
            payload: { fate: random() },
          })),
    });
  }
  return nodes;
}

test("E1 E2 P8: random graphs: starts respect every edge, ends follow the rules, callbacks come once", async () => {
  const random = dice(newSeed());
  for (let n = 0; n < GRAPHS; n++)
    await createFlow(db, randomGraph(random), { name: `g${n}`, callbacks: CALLBACKS(n) });
  const counts = await runCrew(db, {
    random,
    workers: 4,
    run: async (session, job) => {
      if (job.kind !== "work" || random() > 0.2) return;
      const [row] = await session.query<{ batch: string }>("select batch from fairmill.job where id = $1", [job.id]);
      if (row)
        await enqueue(session, [{ kind: "more", batch: row.batch, max_attempts: 1_000, payload: { fate: random() } }]);
    },
    verdictOf: (job) => {
      const { fate = 1 } = job.payload as { fate?: number };
      if (random() < 0.1) return "retry";
      return fate < 0.1 ? "dead" : "done";
    },
  });

  const [sizes] = await db.query(
    "select count(*)::integer as nodes, (select count(*)::integer from fairmill.batch_edge) as edges from fairmill.batch where role = 'node'",
  );
  const states = await db.query(
    "select state, count(*)::integer as n from fairmill.batch where role = 'node' group by 1 order by 1",
  );
  console.log(JSON.stringify({ ...sizes, ...counts, ...Object.fromEntries(states.map(({ state, n }) => [state, n])) }));

  // No node began before every node that it waits for was over, with all that was ever added to it.
  expect(
    await db.query(`select a.id from fairmill.batch_edge e join fairmill.batch b on b.id = e.before join fairmill.batch a on a.id = e.after
      where a.started_at is not null and (b.ended_at is null or b.ended_at > a.started_at
        or exists (select from fairmill.job_history m where m.batch = b.id and m.ended_at > a.started_at))`),
  ).toEqual([]);
  // Nor before the node around it.
  expect(
    await db.query(
      "select n.id from fairmill.batch n join fairmill.batch p on p.id = n.parent where n.started_at < p.started_at",
    ),
  ).toEqual([]);
  // What started was allowed to, by all that it waited for; what was skipped was not, or its flow had failed.
  expect(
    await db.query(`
      with judged as (
        select n.id, n.state, n.start_when, n.started_at, p.state as around, p.failed > 0 as is_failing,
          coalesce(bool_and(b.state = 'succeeded' or b.state in ('failed', 'cancelled') and b.on_failure = 'continue') filter (where b.id is not null), true) as is_met,
          coalesce(bool_or(b.state in ('failed', 'cancelled')), false) as has_failed
        from fairmill.batch n join fairmill.batch p on p.id = n.parent
        left join fairmill.batch_edge e on e.after = n.id left join fairmill.batch b on b.id = e.before
        where n.role = 'node' group by n.id, n.state, n.start_when, n.started_at, p.state, p.failed)
      select id, state, start_when from judged
      where started_at is not null and not case start_when when 'succeeded' then is_met when 'failed' then has_failed else true end
         or state = 'skipped' and around <> 'skipped' and case start_when when 'succeeded' then is_met and not is_failing when 'failed' then has_failed else true end`),
  ).toEqual([]);
  // A node has failed exactly if a job of it is dead or something inside has failed it; a flow exactly if a node that may not fail has.
  expect(
    await db.query(`select b.id, b.state from fairmill.batch b
      cross join lateral (select exists (select from fairmill.job_history h where h.batch = b.id and h.state = 'dead')
        or exists (select from fairmill.batch c where c.parent = b.id and c.state = 'failed' and c.on_failure = 'fail') as has_failed) f
      where b.started_at is not null and (b.state = 'failed') <> f.has_failed or b.ended_at is null`),
  ).toEqual([]);
  // Callbacks: complete once for each flow, success once where it succeeded, death once where one of its own jobs died: a flow has none.
  const called = await db.query<{ kind: string; n: number; name: number }>(
    "select kind, (payload ->> 'n')::integer as name, count(*)::integer as n from fairmill.job_history where kind in ('success', 'complete', 'death') group by 1, 2",
  );
  expect(called.filter(({ n }) => n !== 1)).toEqual([]);
  const flows = await db.query<{ state: string; name: string }>(
    "select state, name from fairmill.batch where role = 'flow'",
  );
  const named = (kind: string) =>
    called
      .filter((one) => one.kind === kind)
      .map((one) => `g${one.name}`)
      .toSorted();
  expect(named("complete")).toEqual(flows.map(({ name }) => name).toSorted());
  expect(named("success")).toEqual(
    flows
      .filter(({ state }) => state === "succeeded")
      .map(({ name }) => name)
      .toSorted(),
  );
  expect(counts.kills).toBeGreaterThan(0);
});

test("E2 F6: failed flows run again, as a whole and by single jobs, while others work: all succeed in the end, callbacks still once", async () => {
  const random = dice(newSeed());
  for (let n = 0; n < GRAPHS / 2; n++)
    await createFlow(db, randomGraph(random), { name: `g${n}`, callbacks: CALLBACKS(n) });
  const fail = {
    random,
    workers: 3,
    verdictOf: (job: Claimed) => (((job.payload as { fate?: number }).fate ?? 1) < 0.15 ? "dead" : "done"),
  } as const;
  await runCrew(db, fail);
  const rounds: string[] = [];
  // A node that failed and was tolerated does not fail its flow: such flows are run again as well.
  for (let round = 0; round < 10; round++) {
    const dead = await db.query<{ id: string }>("select id from fairmill.job_history where state = 'dead' order by id");
    if (dead.length === 0) break;
    const flows = await db.query<{ id: string }>(
      "select distinct root as id from fairmill.batch where state = 'failed' order by 1",
    );
    rounds.push(`${dead.length} dead, ${flows.length} flows`);
    const crew = runCrew(db, {
      ...fail,
      verdictOf: ({ kind }) => (kind === "work" && random() < 0.1 ? "retry" : "done"),
    });
    // Some of them, so that jobs and flows are run again in turns; in the end all, so that no job is left out by chance.
    const isChosen = () => round >= 5 || random() < 0.5;
    for (const { id } of dead.filter(isChosen)) await db.query("select fairmill.retry_v1($1)", [id]);
    for (const { id } of flows.filter(isChosen)) await db.query("select fairmill.retry_flow_v1($1)", [id]);
    await crew;
    // What came after the crew had left.
    await runCrew(db, { ...fail, verdictOf: () => "done" });
    // A node that was run anew has forgotten its old members: they are history.
    await db.query(
      `delete from fairmill.job_history h using fairmill.batch b where h.batch = b.id and h.state = 'dead' and b.state = 'succeeded'`,
    );
  }
  console.log(rounds.join("; "));
  expect(await db.query("select name, state from fairmill.batch where role = 'flow' and state <> 'succeeded'")).toEqual(
    [],
  );
  expect(await db.query("select id from fairmill.batch where state in ('failed', 'pending', 'waiting')")).toEqual([]);
  const called = await db.query<{ kind: string; n: number }>(
    "select kind, (payload ->> 'n') as name, count(*)::integer as n from fairmill.job_history where kind in ('success', 'complete') group by 1, 2",
  );
  expect(called.filter(({ n }) => n !== 1)).toEqual([]);
  expect(called.length).toBe(GRAPHS);
});
