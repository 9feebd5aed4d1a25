// How often children failed since one last worked: how long to wait before the next start, and when it is a crash loop.

const FIRST_MS = 50;
const MAX_MS = 30_000;

export class FailureCount {
  #count = 0;
  #terminations = 0;

  /** Failures since a child last completed a job or was stable. */
  get count(): number {
    return this.#count;
  }

  failed(): void {
    this.#count++;
  }

  /** A child failed too often, and was given up. */
  terminated(): void {
    this.#terminations++;
  }

  /** A child works. */
  forget(): void {
    this.#count = 0;
    this.#terminations = 0;
  }

  /** Before a child that failed so often in a row gets a new process. */
  pauseMs(failures: number): number {
    return Math.min(MAX_MS, FIRST_MS * 4 ** (failures - 1));
  }

  /** Before another child takes the place of one that was given up. */
  get replaceMs(): number {
    return FIRST_MS * 4 ** this.#terminations;
  }

  /** As many were given up as there shall be at least, and none has worked. */
  isLoop(childrenMin: number): boolean {
    return this.#terminations >= Math.max(1, childrenMin);
  }
}
