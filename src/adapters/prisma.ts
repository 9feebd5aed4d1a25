// An interactive transaction of Prisma, for `client.in(tx)`.
import { ConfigError } from "../base/errors.js";
import type { Queryable } from "../db/database.js";

/** What `prisma.$transaction(async (tx) => …)` hands out, by what is needed of it. */
export interface PrismaTransaction {
  // biome-ignore lint/suspicious/noExplicitAny: so the library declares it.
  $queryRawUnsafe(text: string, ...values: any[]): PromiseLike<any>;
  /** Only the client itself can connect; a transaction has been. */
  readonly $connect?: never;
}

/** `await prisma.$transaction((tx) => client.in(fromPrisma(tx)).enqueue(job, input))` */
export function fromPrisma(tx: PrismaTransaction): Queryable {
  if (typeof tx?.$queryRawUnsafe !== "function" || tx.$connect !== undefined)
    throw new ConfigError(
      "tx",
      "fromPrisma(tx): tx must be an interactive transaction, as prisma.$transaction hands it to its function. Outside of one, use the client as it is.",
    );
  return { query: async (text, values = []) => ({ rows: await tx.$queryRawUnsafe(text, ...values) }) };
}
