// Shows how far each tenant is: a bar per tenant, redrawn in place on a terminal, or one plain line per look elsewhere.
const BAR_COLUMNS = 30;

export class LanesView {
  #live = process.stdout.isTTY === true;
  #startedAt = performance.now();
  #before = new Map();
  #linesDrawn = 0;

  /** `lanes`: [{ tenant, done, total }, …] */
  show(lanes) {
    const news = lanes.map(({ tenant, done }) => done - (this.#before.get(tenant) ?? 0));
    const allNews = news.reduce((sum, count) => sum + count, 0);
    const shares = news.map((count) => `${Math.round((100 * count) / Math.max(1, allNews))}`.padStart(3));
    this.#before = new Map(lanes.map(({ tenant, done }) => [tenant, done]));
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(1).padStart(5);
    if (!this.#live) {
      const words = lanes.map(({ tenant, done, total }, i) => `${tenant} ${done}/${total} (${shares[i]} %)`);
      console.log(`${seconds} s  ${words.join("   ")}`);
      return;
    }
    const lines = lanes.map(({ tenant, done, total }, i) => {
      const filled = total === 0 ? 0 : Math.round((BAR_COLUMNS * done) / total);
      const bar = "█".repeat(filled) + "░".repeat(BAR_COLUMNS - filled);
      return `  ${tenant.padEnd(5)} ${bar} ${`${done}/${total}`.padStart(8)}  ${shares[i]} % of the work right now`;
    });
    if (this.#linesDrawn > 0) process.stdout.write(`\x1b[${this.#linesDrawn}A`);
    process.stdout.write(lines.map((line) => `\x1b[2K${line}\n`).join(""));
    this.#linesDrawn = lines.length;
  }

  /** What is printed next stays; bars go on below it. */
  leave() {
    this.#linesDrawn = 0;
  }
}
