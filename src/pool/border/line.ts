// One end of the line between two processes. What is said in one turn of the loop goes over together: a message costs a system call.

export class Line<Out, In> {
  readonly #send: (batch: readonly Out[]) => void;
  readonly #hear: (message: In) => void;
  #batch: Out[] = [];
  #isClosed = false;

  /** `send` hands a batch to the other process; `hear` gets each message of it. */
  constructor(send: (batch: readonly Out[]) => void, hear: (message: In) => void) {
    this.#send = send;
    this.#hear = hear;
  }

  say(message: Out): void {
    if (this.#isClosed) return;
    this.#batch.push(message);
    if (this.#batch.length === 1) setImmediate(this.flush);
  }

  /** Sends what was said so far, now: before the process ends, say. */
  readonly flush = (): void => {
    const batch = this.#batch;
    this.#batch = [];
    if (batch.length > 0 && !this.#isClosed) this.#send(batch);
  };

  /** A message of the driver below: a batch of ours, or nothing that concerns us. */
  receive(batch: unknown): void {
    if (!Array.isArray(batch)) return;
    for (const message of batch) this.#hear(message as In);
  }

  close(): void {
    this.#isClosed = true;
    this.#batch = [];
  }
}
