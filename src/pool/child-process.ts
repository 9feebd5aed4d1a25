// One child process, seen from the supervisor: starts it, speaks with it, watches whether it answers, and says how it ended.
import { fork, type ChildProcess as NodeProcess } from "node:child_process";
import type { Clock } from "../base/clock.js";
import { Line } from "./border/line.js";
import type { ChildSettings, FromChild, ToChild, Vitals } from "./border/messages.js";
import type { Offer } from "./border/offer.js";
import { type Exit, judgeExit } from "./life-cycle.js";

export interface ChildProgram {
  /** The script that the process runs, and its arguments. */
  readonly entry: string;
  readonly args: readonly string[];
  readonly execArgv: readonly string[];
}

export interface ChildProcessOptions {
  readonly program: ChildProgram;
  readonly settings: ChildSettings;
  readonly clock: Clock;
  /** A process whose loop has not answered for so long is killed. */
  readonly hangMs: number;
  readonly onReady: (offer: Offer) => void;
  readonly onMessage: (message: FromChild) => void;
  readonly onVitals: (vitals: Vitals) => void;
  /** Everything that it said before has been heard. */
  readonly onExit: (exit: Exit) => void;
}

/** How long the last words of a process that has ended may take to arrive. */
const LAST_WORDS_MS = 1_000;
/** How long a process may take to load its handlers at least, whatever `hangMs` says: that blocks its loop, and many may start at once. */
const START_MS_MIN = 60_000;
/** Pings in the time that a loop may hang. */
const PINGS_PER_HANG = 4;

export class ChildProcess {
  readonly #options: ChildProcessOptions;
  readonly #process: NodeProcess;
  readonly #line: Line<ToChild, FromChild>;
  #said: { type: "dying" | "unable"; message: string } | undefined;
  #ended: Exit | undefined;
  #isOver = false;
  #isReady = false;
  #pings = 0;
  #answeredAtMs: number;
  #forgetPing: (() => void) | undefined;

  constructor(options: ChildProcessOptions) {
    const { program, settings, clock } = options;
    this.#options = options;
    this.#process = fork(program.entry, [...program.args], {
      execArgv: [...process.execArgv, ...program.execArgv],
      // Structured clones: dates, undefined and large numbers arrive as they were.
      serialization: "advanced",
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#line = new Line<ToChild, FromChild>(
      (batch) => {
        if (this.#process.connected) this.#process.send(batch as never, () => {});
      },
      (message) => this.#hear(message),
    );
    this.#process.on("message", (batch) => this.#line.receive(batch));
    this.#process.on("error", (error) => this.#exited(null, null, error));
    this.#watchEnd();
    this.#answeredAtMs = clock.monotonic();
    this.#line.say({ type: "begin", settings });
    this.#ping();
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  say(message: ToChild): void {
    this.#line.say(message);
  }

  /** Ends the process: kindly, when nothing runs in it any more. */
  leave(exit: Exit): void {
    this.#ended ??= exit;
    this.#line.say({ type: "leave" });
  }

  /** Ends the process at once. SIGKILL also reaches one that is stopped. */
  kill(exit: Exit): void {
    if (this.#isOver) return;
    this.#ended ??= exit;
    this.#process.kill("SIGKILL");
  }

  /** The exit is told when the line is closed, too: what the process said last is heard first. */
  #watchEnd(): void {
    let parts = 0;
    let facts: { code: number | null; signal: string | null } = { code: null, signal: null };
    const part = () => {
      if (++parts === 2) this.#exited(facts.code, facts.signal);
    };
    this.#process.on("disconnect", part);
    this.#process.on("exit", (code, signal) => {
      facts = { code, signal };
      part();
      if (parts < 2) this.#options.clock.after(LAST_WORDS_MS, () => this.#exited(code, signal));
    });
  }

  #exited(code: number | null, signal: string | null, error?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#forgetPing?.();
    this.#line.close();
    const said = error === undefined ? this.#said : ({ type: "unable", message: error.message } as const);
    this.#options.onExit(judgeExit({ code, signal, ended: this.#ended, said }));
  }

  #hear(message: FromChild): void {
    if (this.#isOver) return;
    if (message.type === "pong") {
      this.#answeredAtMs = this.#options.clock.monotonic();
      return this.#options.onVitals(message.vitals);
    }
    if (message.type === "ready") {
      this.#isReady = true;
      this.#answeredAtMs = this.#options.clock.monotonic();
      return this.#options.onReady(message.offer);
    }
    if (message.type === "unable" || message.type === "dying") {
      this.#said ??= { type: message.type, message: message.error.message };
      return;
    }
    this.#options.onMessage(message);
  }

  #ping(): void {
    if (this.#isOver) return;
    const { clock, hangMs } = this.#options;
    const silentMs = clock.monotonic() - this.#answeredAtMs;
    if (silentMs > (this.#isReady ? hangMs : Math.max(hangMs, START_MS_MIN)))
      return this.kill({ kind: "hung", reason: `its loop has not answered for ${Math.round(silentMs)} ms` });
    this.#line.say({ type: "ping", ping: ++this.#pings });
    this.#forgetPing = clock.after(hangMs / PINGS_PER_HANG, () => this.#ping());
  }
}
