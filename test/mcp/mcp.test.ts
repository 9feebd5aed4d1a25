// `fairmill mcp` as an agent's program uses it: a real process, spoken to over its pipes.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createClient, defineJob } from "fairmill";
import { createHttpHandler } from "fairmill/http";
import { expect, test } from "vitest";
import { listen } from "../../src/http/listen.js";
import { Confirmations } from "../../src/mcp/confirmations.js";
import { CREDENTIALS, SECRETS, silent } from "../http/server.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";

const db = useDatabase();
const MAIN = new URL("../../dist/cli/main.js", import.meta.url).pathname;

interface Message {
  readonly id?: number | string | null;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
}

class Agent {
  readonly child: ChildProcessWithoutNullStreams;
  readonly #lines: string[] = [];
  readonly #waiting: ((line: string) => void)[] = [];
  #rest = "";
  #id = 0;

  constructor(args: readonly string[] = [], env: Record<string, string> = {}) {
    this.child = spawn(process.execPath, [MAIN, "mcp", ...args], {
      env: { ...process.env, DATABASE_URL: db.url, ...env },
      cwd: "/",
    });
    endAfterTest(async () => void (await this.end()));
    this.child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      const parts = (this.#rest + chunk).split("\n");
      this.#rest = parts.pop()!;
      for (const line of parts) (this.#waiting.shift() ?? ((one: string) => void this.#lines.push(one)))(line);
    });
  }

  async end(): Promise<number | null> {
    if (this.child.exitCode !== null) return this.child.exitCode;
    this.child.stdin.end();
    await once(this.child, "exit");
    return this.child.exitCode;
  }

  line(): Promise<string> {
    const known = this.#lines.shift();
    return known !== undefined ? Promise.resolve(known) : new Promise((resolve) => this.#waiting.push(resolve));
  }

  say(text: string): void {
    this.child.stdin.write(`${text}\n`);
  }

  async ask(method: string, params: object = {}): Promise<Message> {
    const id = ++this.#id;
    this.say(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const answer = JSON.parse(await this.line()) as Message;
    expect(answer).toMatchObject({ jsonrpc: "2.0", id });
    return answer;
  }

  /** What the tool answered, and whether it is an error. */
  async call(name: string, args: object = {}) {
    const { result } = await this.ask("tools/call", { name, arguments: args });
    const { content, isError } = result as { content: { type: string; text: string }[]; isError: boolean };
    expect(content).toHaveLength(1);
    return { isError, value: JSON.parse(content[0]!.text) as Record<string, never> };
  }

  async initialize(protocolVersion = "2025-06-18") {
    const { result } = await this.ask("initialize", {
      ...{ protocolVersion, capabilities: {} },
      clientInfo: { name: "test", version: "1" },
    });
    this.say(JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }));
    return result!;
  }

  async tools(): Promise<{ name: string; inputSchema: { type: string }; annotations: { readOnlyHint: boolean } }[]> {
    return (await this.ask("tools/list")).result!["tools"] as never;
  }
}

const mail = defineJob<{ n: number }>({ kind: "mail", queue: "mails" });
async function enqueue(tenant: string, n = 1): Promise<string[]> {
  const client = createClient({ databaseUrl: db.url, connectionsMax: 1 });
  endAfterTest(() => client.close());
  const ids: string[] = [];
  for (let no = 0; no < n; no++) ids.push((await client.enqueue(mail, { n: no }, { tenant })).id);
  return ids;
}
const stateOf = async (id: string) =>
  (
    await db.query<{ state: string }>(
      "select state from fairmill.job where id = $1 union all select state from fairmill.job_history where id = $1",
      [id],
    )
  )[0]?.state;

test("the handshake, versions, a ping, the list of tools by role, and the end with the input", async () => {
  const agent = new Agent();
  expect(await agent.initialize()).toMatchObject({
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "fairmill" },
  });
  expect(await agent.initialize("2024-11-05")).toMatchObject({ protocolVersion: "2024-11-05" });
  expect(await agent.initialize("1999-01-01")).toMatchObject({ protocolVersion: "2025-06-18" });
  expect((await agent.ask("ping")).result).toEqual({});
  const tools = await agent.tools();
  const names = tools.map(({ name }) => name);
  for (const name of ["now", "list_jobs", "job", "why", "errors", "workers", "backlog"]) expect(names).toContain(name);
  expect(names).not.toContain("act");
  for (const { inputSchema, annotations } of tools)
    expect([inputSchema.type, annotations.readOnlyHint]).toEqual(["object", true]);
  expect(await agent.end()).toBe(0);
  const operator = new Agent(["--role", "operator"]);
  expect((await operator.tools()).at(-1)).toMatchObject({ name: "act", annotations: { readOnlyHint: false } });
});

test("looking: lists, a job, why it waits, errors, workers, the backlog, what goes on", async () => {
  const [id] = (await enqueue("acme", 3)) as [string];
  const agent = new Agent();
  await agent.initialize();
  const list = await agent.call("list_jobs", { tenant: "acme", limit: 2 });
  expect(list.value["items"]).toHaveLength(2);
  expect((await agent.call("list_jobs", { cursor: list.value["next"] })).value["items"]).toMatchObject([{ id }]);
  expect((await agent.call("job", { id })).value).toMatchObject({ id, kind: "mail", payload: { n: 0 } });
  expect((await agent.call("why", { id })).value).toMatchObject({ id, reason: expect.any(String) });
  expect((await agent.call("backlog", { kind: "mail" })).value).toEqual({
    ...{ now: { "no handler": 3 }, lastHour: {}, isLowerBound: false },
  });
  for (const tool of ["errors", "workers", "limits", "schedules", "alerts"])
    expect((await agent.call(tool)).value["items"], tool).toEqual([]);
  expect((await agent.call("now")).value).toMatchObject({ ready: { count: 3 } });
  expect(await agent.call("job", { id: "999999" })).toMatchObject({ isError: true, value: { status: 404 } });
  expect(await agent.call("job", { id: "x" })).toMatchObject({ isError: true, value: { issues: [{ path: "id" }] } });
  expect(await agent.call("list_jobs", { stat: "ready" })).toMatchObject({ isError: true });
});

test("acting takes a preview and its token, for the same words, once; and is recorded", async () => {
  const [id, other] = (await enqueue("acme", 2)) as [string, string];
  const agent = new Agent(["--role", "operator", "--by", "ada"]);
  await agent.initialize();
  const words = { action: "job.cancel", id };
  const shown = await agent.call("act", words);
  expect(shown.value).toMatchObject({ nothingChangedYet: true, on: { id }, confirm: expect.any(String) });
  expect(await stateOf(id)).toBe("ready");
  const { confirm } = shown.value;
  expect(await agent.call("act", { action: "job.cancel", id: other, confirm })).toMatchObject({ isError: true });
  expect(await agent.call("act", { ...words, confirm: "guessed" })).toMatchObject({ isError: true });
  expect([await stateOf(id), await stateOf(other)]).toEqual(["ready", "ready"]);
  expect((await agent.call("act", { confirm, ...words })).value).toMatchObject({ done: true });
  expect([await stateOf(id), await stateOf(other)]).toEqual(["cancelled", "ready"]);
  expect(await agent.call("act", { ...words, confirm })).toMatchObject({ isError: true });
  const confirmed = async (action: object) => {
    const { value } = await agent.call("act", action);
    return agent.call("act", { ...action, confirm: value["confirm"] });
  };
  expect((await confirmed({ action: "job.retry", id })).value).toMatchObject({ answer: { answer: "ready" } });
  expect((await confirmed({ action: "queue.pause", name: "mails" })).value).toMatchObject({ done: true });
  expect(await db.query("select name from fairmill.limit_setting where paused_at is not null")).toEqual([
    { name: "mails" },
  ]);
  const bulk = await agent.call("act", { action: "bulk.cancel", filter: { tenant: "acme" }, reason: "gone" });
  expect(bulk.value).toMatchObject({ on: { count: { count: 2 } } });
  for (const bad of [{ action: "job.cancel" }, { action: "bulk.cancel", filter: {} }, { action: "queue.pause" }])
    expect(await agent.call("act", bad)).toMatchObject({ isError: true });
  const acts = await db.query("select actor, action from fairmill.audit_event order by id");
  expect(acts).toEqual([
    { actor: "ada (mcp)", action: "job.cancel" },
    { actor: "ada (mcp)", action: "job.retry" },
    { actor: "ada (mcp)", action: "queue.pause" },
  ]);
});

test("a tenant's agent sees its own jobs alone; over a server the credential's role counts", async () => {
  const [own] = (await enqueue("acme")) as [string];
  const [foreign] = (await enqueue("other")) as [string];
  const agent = new Agent(["--role", "operator", "--tenant", "acme"]);
  await agent.initialize();
  expect((await agent.call("list_jobs")).value["items"]).toMatchObject([{ id: own }]);
  expect(await agent.call("job", { id: foreign })).toMatchObject({ isError: true, value: { status: 404 } });
  expect(await agent.call("act", { action: "job.cancel", id: foreign })).toMatchObject({ isError: true });
  expect(await agent.call("workers")).toMatchObject({ isError: true, value: { status: 403 } });
  const handler = createHttpHandler({ databaseUrl: db.url, auth: CREDENTIALS!, connectionsMax: 2, logger: silent });
  const server = await listen(handler, { host: "127.0.0.1", port: 0, isGuarded: true });
  endAfterTest(() => server.close());
  const over = new Agent(["--url", server.url], { FAIRMILL_MCP_TOKEN: SECRETS.acmeViewer });
  await over.initialize();
  expect((await over.tools()).map(({ name }) => name)).not.toContain("act");
  expect((await over.call("list_jobs")).value["items"]).toMatchObject([{ id: own }]);
  const wrong = new Agent(["--url", server.url], { FAIRMILL_MCP_TOKEN: "a-wrong-secret-012345678" });
  expect(await wrong.call("now")).toMatchObject({ isError: true, value: { status: 401 } });
});

test("what is no request is refused and nothing else stops", async () => {
  const agent = new Agent();
  agent.say("{");
  expect(JSON.parse(await agent.line())).toMatchObject({ id: null, error: { code: -32700 } });
  agent.say(JSON.stringify({ jsonrpc: "1.0", id: 7, method: "ping" }));
  expect(JSON.parse(await agent.line())).toMatchObject({ id: 7, error: { code: -32600 } });
  agent.say(`"${"x".repeat(3 * 1024 * 1024)}"`);
  expect(JSON.parse(await agent.line())).toMatchObject({ id: null, error: { code: -32700 } });
  expect((await agent.ask("resources/list")).error).toMatchObject({ code: -32601 });
  expect((await agent.ask("tools/call", { name: "drop" })).error).toMatchObject({ code: -32602 });
  // A notification has no answer, an answer is not for us, a batch is answered as one.
  agent.say(JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 99 } }));
  agent.say(JSON.stringify({ jsonrpc: "2.0", id: 5, result: {} }));
  const ping = (id: string) => ({ jsonrpc: "2.0", id, method: "ping" });
  agent.say(JSON.stringify([ping("a"), { jsonrpc: "2.0", method: "notifications/initialized" }, ping("b")]));
  expect(JSON.parse(await agent.line())).toMatchObject([{ id: "a" }, { id: "b" }]);
  expect((await agent.ask("ping")).result).toEqual({});
});

test("a token is forgotten after a while, and the oldest make room", () => {
  let nowMs = 0;
  const confirmations = new Confirmations({ monotonic: () => nowMs });
  const first = confirmations.offer({ a: 1, b: { c: 2, d: 3 } });
  expect(confirmations.refusal(first, { b: { d: 3, c: 2 }, a: 1 })).toBeUndefined();
  const late = confirmations.offer({});
  nowMs = 11 * 60_000;
  expect(confirmations.refusal(late, {})).toContain("too old");
  const oldest = confirmations.offer({ n: 0 });
  for (let n = 0; n < 100; n++) confirmations.offer({ n });
  expect(confirmations.refusal(oldest, { n: 0 })).toContain("not known");
});
