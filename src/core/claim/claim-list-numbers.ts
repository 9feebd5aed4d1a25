// The numbers of a worker's claim lists: every claim records its jobs in the list of one number. A number
// is used again when all jobs of its list are settled. One whose claim was not answered is not: the contents of its list are unknown.

export class ClaimListNumbers {
  #highest = 0;
  readonly #free: number[] = [];
  /** By number, how many jobs of the list are not settled. */
  readonly #unsettled = new Map<number, number>();

  take(): number {
    return this.#free.pop() ?? ++this.#highest;
  }

  /** This many jobs came with the claim of this number. */
  fill(no: number, count: number): void {
    if (count === 0) this.#free.push(no);
    else this.#unsettled.set(no, count);
  }

  /** A job of this list is settled. */
  settled(no: number): void {
    const unsettled = this.#unsettled.get(no);
    // A number that is free already must not be given away twice: two claims would write over each other's list.
    if (unsettled === undefined) return;
    if (unsettled > 1) this.#unsettled.set(no, unsettled - 1);
    else {
      this.#unsettled.delete(no);
      this.#free.push(no);
    }
  }
}
