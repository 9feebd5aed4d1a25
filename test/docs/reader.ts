// Does what the reader of a document does, block after block: runs programs, commands and SQL, and compares what they print.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { expect } from "vitest";
import { cli, type LiveProcess, startCli } from "../cli/cli.js";
import type { Block, Document } from "./documents.js";
import { runProgram } from "./program-host.js";
import { compiledFile, fileOf, folderOf } from "./sample-project.js";
import { commandsIn } from "./shell.js";

export const infoOf = ({ language, mark }: Block): string => (mark ? `${language} ${mark}` : language);

/** Whether the block is run, not only compiled or parsed. */
export const isRun = (block: Block): boolean => ["ts run", "sh run", "sh background", "sql"].includes(infoOf(block));

/** Checks that what ran printed the lines of a block. */
type Printed = (expected: Block) => Promise<void>;

export class Reader {
  readonly #document: Document;
  readonly #project: string;
  readonly #url: string | undefined;
  readonly #background: LiveProcess[] = [];
  readonly #roles: string[] = [];

  /** Without a `url`, the document brings its own PostgreSQL. */
  constructor(document: Document, project: string, url: string | undefined) {
    this.#document = document;
    this.#project = project;
    this.#url = url;
  }

  async read(): Promise<void> {
    try {
      let printed: Printed | undefined;
      for (const block of this.#document.blocks) {
        if (isRun(block)) printed = await this.#run(block);
        else if (infoOf(block) === "text prints") {
          if (!printed) throw new Error(`${block.place}: nothing was run before this block.`);
          await printed(block);
        }
      }
      for (const { child, ended } of this.#background) {
        child.kill("SIGTERM");
        expect(await ended, "the end of what ran in the background").toMatchObject({ code: 0 });
      }
    } finally {
      // Roles belong to the whole server, not to the document's database.
      for (const role of this.#roles) await this.#query(`drop owned by ${role}; drop role ${role}`);
    }
  }

  #run(block: Block): Promise<Printed> {
    switch (infoOf(block)) {
      case "ts run":
        return this.#runProgram(block);
      case "sh run":
        return this.#runCommands(block);
      case "sh background":
        return this.#startCommand(block);
      default:
        return this.#runSql(block);
    }
  }

  async #runProgram(block: Block): Promise<Printed> {
    const script = join(this.#project, compiledFile(fileOf(this.#document, block)));
    const { code, stdout, stderr } = await runProgram(script, this.#folder, this.#environment(true));
    expect({ code, stderr }, `${block.place}\n${stdout}`).toEqual({ code: 0, stderr: "" });
    return async (expected) => expectLines(stdout, expected);
  }

  async #runCommands(block: Block): Promise<Printed> {
    let all = "";
    for (const { line, words } of commandsIn(block.text)) {
      const { code, stdout, stderr } = await cli(words, { cwd: this.#folder, env: this.#environment(false) });
      expect({ code, stderr }, `${block.place}: ${line}\n${stdout}`).toEqual({ code: 0, stderr: "" });
      all += stdout;
    }
    return async (expected) => expectLines(all, expected);
  }

  async #startCommand(block: Block): Promise<Printed> {
    const live = startCli(commandsIn(block.text)[0]!.words, { cwd: this.#folder, env: this.#environment(false) });
    this.#background.push(live);
    return async (expected) => {
      for (const line of linesOf(expected))
        expectLines(await live.line(line.split("…")[0]!.trim()), { ...expected, text: line });
    };
  }

  async #runSql(block: Block): Promise<Printed> {
    for (const [, role] of block.text.matchAll(/^create role (\w+)/gm)) this.#roles.push(role!);
    await this.#query(block.text).catch((error: unknown) => {
      throw new Error(`${block.place}: ${error}`);
    });
    return async (expected) => {
      throw new Error(`${expected.place}: what SQL prints is not compared.`);
    };
  }

  get #folder(): string {
    return join(this.#project, folderOf(this.#document));
  }

  /** Commands find the PostgreSQL of `fairmill dev` by themselves; programs are told, as their reader tells them. */
  #environment(isProgram: boolean): Record<string, string> {
    if (this.#url !== undefined) return { DATABASE_URL: this.#url };
    const connection = join(this.#folder, ".fairmill", "postgres", "connection.json");
    return isProgram && existsSync(connection)
      ? { DATABASE_URL: (JSON.parse(readFileSync(connection, "utf8")) as { url: string }).url }
      : {};
  }

  async #query(text: string): Promise<void> {
    const client = new pg.Client(this.#url);
    await client.connect();
    try {
      await client.query(text);
    } finally {
      await client.end();
    }
  }
}

const linesOf = (block: Block) => block.text.split("\n").filter((line) => line.trim() !== "");
const oneSpace = (text: string) => text.trim().replaceAll(/\s+/g, " ");
const literal = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Each line of the block stands in a line of the output; several spaces are one, and `…` is anything. */
function expectLines(output: string, expected: Block): void {
  const printed = output.split("\n").map(oneSpace);
  for (const line of linesOf(expected)) {
    const wanted = new RegExp(oneSpace(line).split("…").map(literal).join(".*"));
    if (!printed.some((one) => wanted.test(one)))
      throw new Error(`${expected.place}: ${JSON.stringify(line)} was not printed. This was:\n${output}`);
  }
}
