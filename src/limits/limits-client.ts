// `client.tenants`, `client.queues`, `client.kinds`: who is there, with limits and counts, and how to change the limits of one.

import { nameOf } from "../base/settings.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import type { Session } from "../db/session.js";
import { checkLimits, type LimitSettings, type TenantSettings } from "./limit-settings.js";
import { setLimits } from "./limit-statements.js";
import { checkNamePage } from "./name-page.js";
import {
  type KindOverview,
  type NamePage,
  type QueueOverview,
  readKinds,
  readQueues,
  readTenants,
  type TenantOverview,
} from "./overview-statements.js";

export class Tenants {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** A page of tenants by name, with their limits and what waits and runs. */
  async list(page: NamePage = {}): Promise<TenantOverview[]> {
    const wanted = checkNamePage(page, "tenants.list");
    return this.#context.call(() => readTenants(this.#context, wanted));
  }

  /** One tenant; undefined when it has neither settings nor jobs that are ready or running. */
  async get(tenant: string): Promise<TenantOverview | undefined> {
    nameOf(tenant, "tenant");
    return this.#context.call(() => find(this.#context, tenant, readTenants, (one) => one.tenant));
  }

  /** Changes a tenant's weight and limits. What is left out stays as it is; null takes a limit away. */
  async set(tenant: string, settings: TenantSettings): Promise<void> {
    const stored = checkLimits(settings, "tenant", "tenants.set");
    return this.#context.call(() => setLimits(this.#context, "tenant", nameOf(tenant, "tenant"), stored));
  }
}

export class Queues {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** A page of queues by name, with their limits and what waits and runs. */
  async list(page: NamePage = {}): Promise<QueueOverview[]> {
    const wanted = checkNamePage(page, "queues.list");
    return this.#context.call(() => readQueues(this.#context, wanted));
  }

  /** One queue; undefined when neither jobs nor living workers nor settings name it. */
  async get(queue: string): Promise<QueueOverview | undefined> {
    nameOf(queue, "queue");
    return this.#context.call(() => find(this.#context, queue, readQueues, (one) => one.queue));
  }

  /** Changes a queue's limits, across the fleet. What is left out stays as it is; null takes a limit away. */
  async set(queue: string, settings: LimitSettings): Promise<void> {
    const stored = checkLimits(settings, "queue", "queues.set");
    return this.#context.call(() => setLimits(this.#context, "queue", nameOf(queue, "queue"), stored));
  }
}

export class Kinds {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** A page of kinds by name: those that have limits or that a living worker handles. */
  async list(page: NamePage = {}): Promise<KindOverview[]> {
    const wanted = checkNamePage(page, "kinds.list");
    return this.#context.call(() => readKinds(this.#context, wanted));
  }

  /** One kind; undefined when it has no limits and no living worker handles it. */
  async get(kind: string): Promise<KindOverview | undefined> {
    nameOf(kind, "kind");
    return this.#context.call(() => find(this.#context, kind, readKinds, (one) => one.kind));
  }

  /** Changes the limits of a kind of jobs, across the fleet. What is left out stays as it is; null takes a limit away. */
  async set(kind: string, settings: LimitSettings): Promise<void> {
    const stored = checkLimits(settings, "kind", "kinds.set");
    return this.#context.call(() => setLimits(this.#context, "kind", nameOf(kind, "kind"), stored));
  }
}

/** Lists are read by what is behind a name: this reads from right before the wanted one. */
async function find<Overview>(
  session: Session,
  wanted: string,
  read: (session: Session, page: Required<NamePage>) => Promise<Overview[]>,
  nameIn: (overview: Overview) => string,
): Promise<Overview | undefined> {
  const wantedBytes = Buffer.from(wanted);
  for (let after = rightBefore(wanted); ; ) {
    const [next] = await read(session, { after, limit: 1 });
    if (next === undefined) return undefined;
    after = nameIn(next);
    const order = Buffer.compare(Buffer.from(after), wantedBytes);
    if (order === 0) return next;
    if (order > 0) return undefined;
  }
}

/** A text before this one in the order of bytes, with hardly any between the two. */
export function rightBefore(name: string): string {
  const letters = [...name];
  const last = letters.pop()!.codePointAt(0)!;
  const before = last === 0xe000 ? 0xd7ff : last - 1;
  return before === 0 ? letters.join("") : `${letters.join("")}${String.fromCodePoint(before)}\u{10ffff}`;
}
