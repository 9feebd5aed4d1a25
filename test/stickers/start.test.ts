// `npm start`: the sticker bot with synthetic users, without a terminal.
import { spawn, spawnSync } from "node:child_process";
import { EventEmitter } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { listenForKeys } from "../../examples/stickers/run/keys.js";
import { breakerNews, breakersOf } from "../../examples/stickers/run/news.js";
import { SyntheticUsers } from "../../examples/stickers/run/synthetic-users.js";
import { View } from "../../examples/stickers/run/view.js";
import { repo, scratchFolder } from "../cli/cli.js";
import { clone, npmStart } from "../cli/clone.js";
import { freshDatabase, useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const hasScript = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;
const schemas = async () =>
  (
    await db.query<{ nspname: string }>("select nspname from pg_namespace where nspname like 'fairmill%' order by 1")
  ).map(({ nspname }) => nspname);
afterEach(() => db.query("drop schema if exists fairmill_example, fairmill_example_bot cascade"));

test("draws stickers for several communities, says where they are, and ends after as many as it was told", async () => {
  const folder = await clone();
  const { code, stdout, stderr } = await npmStart(folder, ["--stickers", "5"]).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(
    /^Stickers: http:\/\/127\.0\.0\.1:\d+\/stickers, as files in \.fairmill\/stickers\/<community>\/$/m,
  );
  expect(stdout.match(/ got “.*” after [\d.]+ s/g)!.length).toBeGreaterThanOrEqual(5);
  expect(stdout).toMatch(/^\d+ stickers arrived, 0 credits were given back\.$/m);
  const communities = (await readdir(join(folder, ".fairmill/stickers"))).filter((name) => !name.startsWith("."));
  const files = await Promise.all(communities.map((name) => readdir(join(folder, ".fairmill/stickers", name))));
  expect(files.flat().filter((name) => name.endsWith(".webp")).length).toBeGreaterThanOrEqual(5);
});

test("on a database that is named: cleans up at a signal, and its workers are gone", async () => {
  const running = npmStart(repo, ["--database-url", db.url], { STICKERS_FOLDER: join(await clone(), "files") });
  const address = /http\S+\/stickers/.exec(await running.line("Stickers: "))![0];
  await running.line(" got “");
  expect(await schemas()).toEqual(["fairmill", "fairmill_example", "fairmill_example_bot"]);
  const [, picture] = /<img src="([^"]+)"/.exec(await (await fetch(address)).text())!;
  const shown = await fetch(new URL(picture!, address));
  expect([shown.status, shown.headers.get("content-type")]).toEqual([200, "image/webp"]);
  await shown.body?.cancel();
  running.child.kill("SIGINT");
  const { code, stdout } = await running.ended;
  expect({ code, last: stdout.trimEnd().split("\n").at(-1) }).toEqual({ code: 0, last: "Stopping …" });
  expect(await schemas()).toEqual(["fairmill"]);
  expect(
    await db.query(
      "select pid from pg_stat_activity where datname = current_database() and application_name = 'stickers'",
    ),
  ).toEqual([]);
});

test.skipIf(!hasScript)("ends when its terminal is closed, also where no signal tells it", async () => {
  const folder = await scratchFolder();
  const told = (file: string) => readFile(join(folder, file), "utf8").catch(() => undefined);
  const start = `'${process.execPath}' scripts/start.mjs --database-url '${db.url}'`;
  // A session whose first process neither ends with the terminal nor tells the others.
  const shell = `trap "" HUP; ${start} & echo $! > '${folder}/pid'; wait $!; echo $? > '${folder}/code'`;
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, SHELL: "/bin/sh", TERM: "dumb", STICKERS_FOLDER: join(await clone(), "files") };
  const terminal = spawn("script", ["-qefc", shell, "/dev/null"], {
    cwd: repo,
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  let text = "";
  terminal.stdout.on("data", (chunk) => {
    text += chunk;
  });
  try {
    await waitUntil("the first sticker", () => text.includes(" got “"));
    terminal.kill("SIGKILL");
    expect(await waitUntil("the bot has ended", () => told("code"))).toBe("0\n");
  } finally {
    terminal.kill("SIGKILL");
    const pid = await told("pid");
    if (pid !== undefined && (await told("code")) === undefined) process.kill(Number(pid), "SIGTERM");
  }
  expect(await schemas()).toEqual(["fairmill"]);
});

test("ends with an error when its database is gone, and leaves nothing running", async () => {
  const fresh = await freshDatabase({ empty: true });
  const running = npmStart(repo, ["--database-url", fresh.url], { STICKERS_FOLDER: join(await clone(), "files") });
  await running.line(" got “");
  await fresh.drop();
  const { code, stderr } = await running.ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^error: /m);
});

test("arguments that do not fit are refused with what fits", async () => {
  for (const args of [
    ["--stickers", "many"],
    ["--example", "nothing"],
  ]) {
    const { code, stderr } = await npmStart(repo, args).ended;
    expect(code).toBe(2);
    expect(stderr).toContain("Usage: npm start -- [--database-url postgres://…] [--example stickers | fair-lanes]");
  }
});

test("--help says what there is", async () => {
  const { code, stdout } = await npmStart(repo, ["--help"]).ended;
  expect(code).toBe(0);
  for (const option of ["--database-url", "--example", "--stickers", "Ctrl-C"]) expect(stdout).toContain(option);
});

test("keys of a terminal call what they are for, Ctrl-C quits, and the terminal is left as it was", () => {
  const modes: boolean[] = [];
  const input = Object.assign(new EventEmitter(), {
    isTTY: true,
    setRawMode: (raw: boolean) => {
      modes.push(raw);
      return input;
    },
    resume: () => input,
    pause: () => input,
  });
  const pressed: string[] = [];
  const keys = { k: () => void pressed.push("k"), q: () => void pressed.push("q") };
  const others: string[] = [];
  const leave = listenForKeys(keys, (letter) => void others.push(letter), input as unknown as NodeJS.ReadStream);
  // An arrow is no letter, and the shift key may be stuck.
  for (const text of ["k", "x", "Kk", "\u001b[k", " ", "\u0003"]) input.emit("data", Buffer.from(text));
  leave();
  input.emit("data", Buffer.from("k"));
  expect([pressed, others, modes]).toEqual([["k", "k", "k", "q"], ["x"], [true, false]]);
});

test("the line about now is drawn over itself, fits the window, and stays below what happened", () => {
  const sent: string[] = [];
  const out = { isTTY: true, columns: 20, write: (text: string) => sent.push(text) };
  const view = new View(out as unknown as NodeJS.WriteStream);
  view.show("1 sticker and much more text than fits");
  view.print("a line");
  expect(sent.join("")).toBe("1 sticker and much \r\x1b[2Ka line\n1 sticker and much ");
});

test("what happens is folded between words on a terminal, and one line anywhere else", () => {
  for (const [isTTY, said] of [
    [true, "          cats  got a\n          sticker and\n          more"],
    [false, "          cats  got a sticker and more"],
  ] as const) {
    const sent: string[] = [];
    const out = { isTTY, columns: 24, write: (text: string) => sent.push(text) };
    new View(out as unknown as NodeJS.WriteStream).say("cats  got a sticker and more");
    const lines = sent.join("").replace(/^ +[\d.]+ s {2}/, (time) => " ".repeat(time.length));
    expect(lines).toBe(`${said}\n`);
  }
});

test("a breaker is told when it opens and when it closes, and not each time that it lets a call through", () => {
  const looks = (["closed", "open", "half-open", "open", "half-open", "closed"] as const).map((breaker) =>
    breakersOf([{ name: "pixian", breaker }]),
  );
  const told = looks.slice(1).map((now, n) => breakerNews(looks[n]!, now));
  expect(told).toEqual([
    ["too many calls of pixian failed: its breaker is open, and no worker calls it; stickers are cut out here"],
    [],
    [],
    [],
    ["a single call has found pixian well again: its breaker is closed, and all workers call it"],
  ]);
  const models = (first: "open" | "closed", second: "open" | "closed") =>
    breakersOf([
      { name: "gemini", breaker: first },
      { name: "gemini-second", breaker: second },
    ]);
  expect(breakerNews(models("closed", "closed"), models("open", "closed"))[0]).toContain("gemini-second draws");
  expect(breakerNews(models("open", "closed"), models("open", "open"))[0]).toContain("hold no worker");
});

test("users of the next run are none of the last one, however many joined that", async () => {
  const joined = async (startedAt: number, count: number) => {
    const chats = new Set<number>();
    const over = new AbortController();
    const telegram = {
      onMessage: () => {},
      userWrites: async (update: object) => {
        chats.add((update as { message: { chat: { id: number } } }).message.chat.id);
        return 200;
      },
    };
    const users = new SyntheticUsers(telegram, startedAt, over.signal, () => {});
    users.add("memes", count, "noisy", 1);
    await waitUntil("all of them have joined", async () => chats.size === count);
    over.abort();
    await users.gone();
    return chats;
  };
  const startedAt = Date.parse("2026-11-19T20:00:00Z");
  const first = await joined(startedAt, 1_000);
  const second = await joined(startedAt + 60_000, 10);
  expect([...second].filter((chat) => first.has(chat))).toEqual([]);
});
