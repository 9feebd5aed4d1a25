// How many jobs of one tenant may still go into a claim, over all its priorities.

export class TenantQuota {
  readonly #jobsMax: number;
  readonly #taken: Map<string, number>;

  /** `taken`: jobs by tenant that count already. */
  constructor(jobsMax: number, taken?: ReadonlyMap<string, number>) {
    this.#jobsMax = jobsMax;
    this.#taken = new Map(taken);
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
