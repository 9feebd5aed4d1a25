// How many jobs of one tenant may still go into a claim, over all its priorities.

export class TenantQuota {
  readonly #jobsMax: number;
  readonly #taken = new Map<string, number>();

  constructor(jobsMax: number) {
    this.#jobsMax = jobsMax;
  }

  /** How many of the `count` jobs the tenant may have; they count as taken. */
  take(tenant: string, count: number): number {
    if (this.#jobsMax === Number.POSITIVE_INFINITY) return count;
    const taken = this.#taken.get(tenant) ?? 0;
    const given = Math.min(count, this.#jobsMax - taken);
    if (given > 0) this.#taken.set(tenant, taken + given);
    return given;
  }
}
