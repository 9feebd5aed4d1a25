// The record of an experiment: which job started when, which ran twice, which never.

export class RunRecord {
  /**
   * @param {Float64Array} startedAt by job number: when it started, NaN when it did not
   * @param {number} twice executions beyond the first
   * @param {number} liveAt when the first worker was ready to claim
   * @param {{ ran: number, rssBytes: number }[]} memory samples of the first worker process
   */
  constructor(startedAt, twice, liveAt, memory = []) {
    this.startedAt = startedAt;
    this.twice = twice;
    this.liveAt = liveAt;
    this.memory = memory;
    /** All start times, in order. */
    this.times = startedAt.filter((time) => !Number.isNaN(time)).sort();
  }

  /** Records of the same queue, from several processes or one after the other. A job in two of them ran twice. */
  static merge(parts) {
    const all = parts[0].startedAt.slice();
    let twice = parts[0].twice;
    for (const part of parts.slice(1)) {
      twice += part.twice;
      for (let n = 0; n < all.length; n++) {
        if (Number.isNaN(part.startedAt[n])) continue;
        if (Number.isNaN(all[n])) all[n] = part.startedAt[n];
        else twice++;
      }
    }
    return new RunRecord(all, twice, Math.min(...parts.map((part) => part.liveAt)), parts[0].memory);
  }

  get lost() {
    return this.startedAt.length - this.times.length;
  }

  /** Seconds from the time at which a worker could claim until this many jobs had started. */
  secondsUntil(count) {
    return (this.times[count - 1] - Math.min(this.liveAt, this.times[0])) / 1000;
  }

  /** Jobs per second of the first part of the jobs, for example 0.2. */
  rateOfFirst(part) {
    const count = Math.floor(part * this.times.length);
    return count / this.secondsUntil(count);
  }

  /** Jobs per second of the last part of the jobs. */
  rateOfLast(part) {
    const count = Math.floor(part * this.times.length);
    return (count / (this.times.at(-1) - this.times.at(-1 - count))) * 1000;
  }
}
