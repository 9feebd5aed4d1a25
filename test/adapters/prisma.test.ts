import { PrismaPg } from "@prisma/adapter-pg";
import { fromPrisma } from "fairmill/adapters/prisma";
import { describeAdapter } from "./in-transaction.js";
import { PrismaClient } from "./prisma/generated/client.js";

describeAdapter("Prisma", (url) => {
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url, max: 2 }), errorFormat: "minimal" });
  return {
    transaction: (work) =>
      prisma.$transaction((tx) => work({ tx: fromPrisma(tx), run: async (text) => await tx.$executeRawUnsafe(text) })),
    // @ts-expect-error: the types refuse it, too.
    adaptPool: () => fromPrisma(prisma),
    close: () => prisma.$disconnect(),
  };
});
