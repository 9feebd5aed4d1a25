// What is announced of every statement: metrics and traces listen here.
import { systemClock } from "../base/clock.js";
import { sqlStateOf } from "./failures.js";
import { nameOfStatement } from "./statement-name.js";

export interface DatabaseCall {
  /** The statement: a function's name without its version, such as "settle", or verb and table, such as "select job". */
  readonly name: string;
  /** From the sending to the answer. Behind others in a pipeline this includes their time. */
  readonly durationMs: number;
  /** Rows of the answer; 0 when it failed. */
  readonly rows: number;
  /** "ok", an SQL state, or "lost" when there was no answer. */
  readonly outcome: string;
}

export type CallListener = (call: DatabaseCall) => void;

/** The listeners of a database: none, in most processes, and then a call costs the look at this. */
export class CallListeners {
  #listeners: readonly CallListener[] | undefined;

  add(listener: CallListener): () => void {
    this.#listeners = [...(this.#listeners ?? []), listener];
    return () => {
      const others = this.#listeners?.filter((other) => other !== listener) ?? [];
      this.#listeners = others.length === 0 ? undefined : others;
    };
  }

  get isEmpty(): boolean {
    return this.#listeners === undefined;
  }

  /** Announces the statement when it is answered. Returns the same promise: nobody waits for listeners. */
  watch<Answer extends { readonly length: number }>(text: string, answer: Promise<Answer>): Promise<Answer> {
    if (this.#listeners === undefined) return answer;
    const sentAtMs = systemClock.monotonic();
    const end = (rows: number, outcome: string) =>
      this.tell({ name: nameOfStatement(text), durationMs: systemClock.monotonic() - sentAtMs, rows, outcome });
    answer.then(
      ({ length }) => end(length, "ok"),
      (error: unknown) => end(0, sqlStateOf(error) ?? "lost"),
    );
    return answer;
  }

  /** A listener that throws is no reason to stop: what it watches goes on. */
  tell(call: DatabaseCall): void {
    for (const listener of this.#listeners ?? [])
      try {
        listener(call);
      } catch {}
  }
}
