// Shows how far each tenant is: a bar per tenant, redrawn in place on a terminal, or one plain line per look elsewhere.
const BAR_COLUMNS_MAX = 30;
const TENANTS_MAX = 8;

export class LanesView {
  #out;
  #startedAt = performance.now();
  #before = new Map();
  /** How wide each line is that was drawn last. */
  #widths = [];

  constructor(out = process.stdout) {
    this.#out = out;
  }

  /** `lanes`: [{ tenant, done, total }, …] */
  show(lanes) {
    const news = lanes.map(({ tenant, done }) => done - (this.#before.get(tenant) ?? 0));
    const allNews = news.reduce((sum, count) => sum + count, 0);
    const shares = news.map((count) => `${Math.round((100 * count) / Math.max(1, allNews))}`.padStart(3));
    this.#before = new Map(lanes.map(({ tenant, done }) => [tenant, done]));
    const rows = lanes.map((lane, i) => ({ ...lane, share: shares[i] }));
    const lines = this.#out.isTTY ? this.#bars(rows) : [this.#plainLine(rows)];
    this.#out.write(`${this.#toFirstLine()}${lines.map((line) => `${line}\n`).join("")}`);
    this.#widths = this.#out.isTTY ? lines.map((line) => line.length) : [];
  }

  /** What is printed next stays; bars go on below it. */
  leave() {
    this.#widths = [];
  }

  /** A window that was made narrower since has broken each line into several. */
  #toFirstLine() {
    const columns = this.#columns();
    const up = this.#widths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    return up === 0 ? "" : `\x1b[${up}A\x1b[J`;
  }

  #plainLine(rows) {
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(1).padStart(5);
    const words = rows.map(({ tenant, done, total, share }) => `${tenant} ${done}/${total} (${share} %)`);
    return `${seconds} s  ${words.join("   ")}`;
  }

  #bars(rows) {
    const shown = rows.slice(0, TENANTS_MAX);
    const width = Math.max(5, ...shown.map(({ tenant }) => tenant.length));
    const lines = shown.map((row) => this.#bar(row, width));
    return rows.length > shown.length ? [...lines, `  and ${rows.length - shown.length} more`] : lines;
  }

  /** The words go first when there is no room, then the bar. No line is as wide as the window: the cursor needs a column. */
  #bar({ tenant, done, total, share }, nameColumns) {
    const room = this.#columns() - 1;
    const name = `  ${tenant.padEnd(nameColumns)} `;
    const count = ` ${`${done}/${total}`.padStart(8)}  ${share} %`;
    const words = " of the work right now";
    const left = room - name.length - count.length;
    const barColumns = Math.max(0, Math.min(BAR_COLUMNS_MAX, left));
    const filled = total === 0 ? 0 : Math.min(barColumns, Math.round((barColumns * done) / total));
    const bar = "█".repeat(filled) + "░".repeat(barColumns - filled);
    return `${name}${bar}${count}${left >= BAR_COLUMNS_MAX + words.length ? words : ""}`.slice(0, room);
  }

  #columns() {
    return this.#out.columns || 80;
  }
}
