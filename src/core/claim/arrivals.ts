// Which ids of a queue were looked at, and which of them must be looked at again, because a transaction that ran at the time may still
// bring jobs with ids that low.
//
//  1. A look covers all ids up to the newest one. What it could not see yet is of a transaction below a bound: the next transaction id.
//  2. These ids stay in doubt as a window, with the number of transactions below its bound that ran. That number only falls: where it is the
//     same as at the last look, nothing can have come in.
//  3. When all of them have ended, one more look sees everything that will ever come in there, and the window is closed. While some run for
//     long, it is looked at again whenever others have ended, by looks that are thorough; those beside a claim are not, but for the last hundred ids.

/** What a look says of the ids it covers. */
export interface Look {
  /** The newest id that was given away. */
  readonly newest: string;
  readonly from: string;
  readonly to: string;
  /** Undefined: nothing can be proved. */
  readonly nextXid: string | undefined;
  readonly nextRunning: number;
  /** By window that was asked about, how many transactions below its bound run. */
  readonly stillRunning: readonly number[];
}

interface Window {
  readonly start: bigint;
  /** Transactions that may still bring ids of the window are below it. */
  readonly bound: string;
  /** How many of them ran at the last look. */
  readonly running: number;
}

/** What a look is asked for. */
export interface Asked {
  readonly tail: string | null;
  readonly starts: readonly string[];
  readonly bounds: readonly string[];
  readonly running: readonly number[];
}

/** Ids that one look covers. */
export const LOOK_IDS = 10_000;
/** Beyond it the newest windows become one. */
const WINDOWS_MAX = 32;
/** More than can run: the next thorough look covers it again. */
const UNKNOWN = 2_147_483_647;

export class Arrivals {
  readonly #idsMax: bigint;
  /** Everything up to here was looked at once. */
  #tail: bigint | undefined;
  #windows: Window[] = [];
  #look: Look | undefined;
  /** The windows as the last look counted their transactions, whether it covered them or not. */
  #counted: readonly Window[] = [];
  #isUnfinished = false;
  /** The same of the look before the scan that is under way. */
  #atScan: readonly Window[] = [];

  /** `idsMax`: how many ids one look covers. */
  constructor(idsMax = LOOK_IDS) {
    this.#idsMax = BigInt(idsMax);
  }

  get asked(): Asked {
    return {
      tail: this.#tail === undefined ? null : String(this.#tail),
      starts: this.#windows.map(({ start }) => String(start)),
      bounds: this.#windows.map(({ bound }) => bound),
      running: this.#windows.map(({ running }) => running),
    };
  }

  /** Whether late commits are found without a look at all lanes. */
  get isProving(): boolean {
    return this.#look?.nextXid !== undefined;
  }

  /** A transaction that ran at the last look may still bring jobs below the newest id. */
  get isOpen(): boolean {
    return !this.isProving || this.#windows.length > 0;
  }

  /** The lowest id under which a job may come in that no look has seen. */
  get firstUnseen(): string {
    return this.isProving ? String((this.#windows[0]?.start ?? this.#tail ?? 0n) + 1n) : "1";
  }

  /** Newer ids than the last look covered. */
  get behind(): number {
    return this.#look && this.#tail !== undefined ? Number(BigInt(this.#look.newest) - this.#tail) : 0;
  }

  /** Transactions of windows have ended that the last look did not cover: another look covers more. */
  get isUnfinished(): boolean {
    return this.#isUnfinished;
  }

  /** A window has news, but is too wide to be looked at by its ids. */
  get isWide(): boolean {
    return this.#counted.some(({ start, running }, i) => {
      const end = this.#counted[i + 1]?.start ?? this.#tail!;
      const known = this.#windows.find((window) => window.start === start);
      return known !== undefined && running < known.running && end - start > this.#idsMax;
    });
  }

  /** The answer to what was asked last. */
  hear(look: Look): void {
    this.#look = look;
    const tail = this.#tail;
    // Nothing was asked yet, or the ids began again: only a scan tells what is there.
    if (tail === undefined || BigInt(look.newest) < tail) {
      this.#tail = 0n;
      this.#windows = [];
      this.#counted = [];
      this.#isUnfinished = false;
      return;
    }
    const [from, to] = [BigInt(look.from), BigInt(look.to)];
    this.#counted = this.#windows.map((window, i) => ({ ...window, running: look.stillRunning[i] ?? UNKNOWN }));
    this.#windows = this.#counted.map((counted, i) => {
      const end = this.#counted[i + 1]?.start ?? tail;
      return from <= counted.start && end <= to ? counted : this.#windows[i]!;
    });
    this.#isUnfinished = this.#counted.some(({ start, running }, i) => {
      const end = this.#counted[i + 1]?.start ?? tail;
      return running < this.#windows[i]!.running && end - start <= this.#idsMax;
    });
    const added = to > tail ? this.#moveTo(to, look) : undefined;
    this.#join(added ? [...this.#counted, added] : this.#counted);
    this.#dropClosed();
  }

  /** All lanes are about to be looked at: what is newer than the last look need not be looked at by its ids. */
  scanBegins(): void {
    this.#atScan = this.#counted;
    if (this.behind > 0) this.#moveTo(BigInt(this.#look!.newest), this.#look!);
    this.#dropClosed();
  }

  /** All lanes have been looked at. */
  scanned(): void {
    this.#windows = this.#windows.map((window) => {
      const seen = this.#atScan.find(({ start, bound }) => start === window.start && bound === window.bound);
      return seen && seen.running < window.running ? seen : window;
    });
    this.#atScan = [];
    this.#dropClosed();
  }

  /** From the tail to this id everything is looked at that the look could see. */
  #moveTo(to: bigint, { nextXid, nextRunning }: Look): Window | undefined {
    const start = this.#tail!;
    this.#tail = to;
    if (nextXid === undefined) return undefined;
    const window = { start, bound: nextXid, running: nextRunning };
    this.#windows.push(window);
    return window;
  }

  /** `counted`: the same windows as the last look counted their transactions. */
  #join(counted: readonly Window[]): void {
    const isUpToDate = (i: number) => this.#windows[i]?.running === counted[i]?.running;
    const windows: Window[] = [];
    this.#windows.forEach((window, i) => {
      const last = windows.at(-1);
      // Transactions below a bound are among those below a higher one: the same number at the same time means the same transactions.
      const isSame = last?.running === window.running && isUpToDate(i - 1) && isUpToDate(i);
      if (last && (isSame || windows.length >= WINDOWS_MAX))
        windows[windows.length - 1] = { ...window, start: last.start, running: isSame ? window.running : UNKNOWN };
      else windows.push(window);
    });
    this.#windows = windows;
  }

  /** Windows at the front of which all transactions had ended when they were looked at. */
  #dropClosed(): void {
    const open = this.#windows.findIndex(({ running }) => running > 0);
    this.#windows = open === -1 ? [] : this.#windows.slice(open);
  }
}
