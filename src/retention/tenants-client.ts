// `client.tenants` with what goes beyond limits: erasing what is kept of one, on demand, with a record.
import { createHash } from "node:crypto";
import { ConfigError } from "../base/errors.js";
import { checkJobId } from "../base/job-id.js";
import { limitOf } from "../base/page.js";
import { nameOf, readable, refuseUnknown } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { Tenants } from "../limits/limits-client.js";
import { type ErasableStorage, runErasure } from "./erasure-runner.js";
import { type Erasure, readErasure, readErasures, startErasure } from "./erasure-statements.js";

export interface EraseOptions {
  /** Who asks for it, for the record; default "library". */
  readonly actor?: string;
  /** Why, for the record. It stays: name no person. */
  readonly reason?: string;
  /** The account whose movements lose their name; default: the one called like the tenant. Null: none. */
  readonly account?: string | null;
  /** Entries of caches whose keys begin so go as well; default: those whose key is the tenant's name. */
  readonly cachePrefix?: string;
  /** Storages that have files of the tenant. */
  readonly storages?: readonly ErasableStorage[];
  /** How the keys of its files begin; default: the tenant's name and a slash. */
  readonly filePrefix?: string;
  /** Ends it early; the next call goes on. */
  readonly signal?: AbortSignal;
  readonly onStep?: (erasure: Erasure) => void;
}

export interface ErasurePage {
  /** Of this tenant, also when its record has no name any more. */
  readonly tenant?: string;
  readonly before?: string;
  readonly limit?: number;
}

const KNOWN = ["actor", "reason", "account", "cachePrefix", "storages", "filePrefix", "signal", "onStep"] as const;

export const digestOf = (tenant: string): string => createHash("sha256").update(tenant).digest("hex");

export class TenantsWithErase extends Tenants {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    super(context);
    this.#context = context;
  }

  /**
   * Erases what is kept of a tenant: ends its jobs, removes its rows and files, takes its name off what must stay. In many short transactions;
   * one that was interrupted is taken up by the next call. The record stays, without a name.
   */
  async erase(tenant: string, options: EraseOptions = {}): Promise<Erasure> {
    if (!this.#context.isAlone)
      throw new ConfigError(
        "erase",
        "tenants.erase: it is many transactions; call it on the client, not on client.in(tx).",
      );
    const wanted = checkErase(tenant, options);
    const { signal, onStep, storages } = options;
    if (signal !== undefined && !readable("signal", "tenants.erase", () => signal instanceof AbortSignal))
      throw new ConfigError("signal", "tenants.erase: signal must be an AbortSignal.");
    if (onStep !== undefined && typeof onStep !== "function")
      throw new ConfigError("onStep", "tenants.erase: onStep must be a function.");
    return this.#context.call(async () => {
      const id = await startErasure(this.#context, wanted);
      return runErasure(this.#context, this.#context.clock, id, { storages, signal, onStep });
    });
  }

  /** Records of erasures, newest first. */
  async erasures(page: ErasurePage = {}): Promise<Erasure[]> {
    refuseUnknown(page, ["tenant", "before", "limit"], "tenants.erasures");
    const { tenant, before } = page;
    const limit = limitOf(page.limit, 1_000);
    const tenantDigest = tenant === undefined ? undefined : digestOf(nameOf(tenant, "tenant"));
    const checked = before === undefined ? undefined : checkJobId(before, "before");
    return this.#context.call(() => readErasures(this.#context, { tenantDigest, before: checked, limit }));
  }

  /** One record; undefined: there is none. */
  async erasure(id: string): Promise<Erasure | undefined> {
    const checked = checkJobId(id);
    return this.#context.call(() => readErasure(this.#context, checked));
  }
}

export function checkErase(tenant: string, options: EraseOptions) {
  nameOf(tenant, "tenant");
  refuseUnknown(options, KNOWN, "tenants.erase");
  const {
    actor = "library",
    reason,
    account = tenant,
    cachePrefix,
    storages = [],
    filePrefix = `${tenant}/`,
  } = options;
  const isList = readable(
    "storages",
    "tenants.erase",
    () => Array.isArray(storages) && storages.every((one) => typeof one?.list === "function" && one.name !== undefined),
  );
  if (!isList)
    throw new ConfigError("storages", "tenants.erase: storages: must be a list of what defineStorage(…) returned.");
  for (const [name, prefix] of Object.entries({ cachePrefix, filePrefix }))
    if (prefix !== undefined && (typeof prefix !== "string" || prefix === ""))
      throw new ConfigError(name, `tenants.erase: ${name}: ${showValue(prefix)} is no beginning of a key.`);
  if (reason !== undefined && (typeof reason !== "string" || reason === "" || Buffer.byteLength(reason) > 2_000))
    throw new ConfigError("reason", "tenants.erase: reason: must be a text of 1 to 2000 bytes.");
  return {
    tenant,
    actor: nameOf(actor, "actor"),
    reason,
    account: account === null ? undefined : nameOf(account, "account"),
    cachePrefix,
    filePrefix: storages.length === 0 ? undefined : filePrefix,
    storages: storages.map(({ name }) => name),
  };
}
