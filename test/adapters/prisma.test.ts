import { PrismaPg } from "@prisma/adapter-pg";
import { fromPrisma } from "fairmill/adapters/prisma";
import { describeAdapter } from "./in-transaction.js";
import { PrismaClient } from "./prisma/generated/client.js";

const clientOf = (url: string) =>
  new PrismaClient({ adapter: new PrismaPg({ connectionString: url, max: 2 }), errorFormat: "minimal" });

describeAdapter("Prisma", (url) => {
  const prisma = clientOf(url);
  return {
    transaction: (work) =>
      prisma.$transaction((tx) => work({ tx: fromPrisma(tx), run: async (text) => await tx.$executeRawUnsafe(text) })),
    // @ts-expect-error: the types refuse it, too.
    adaptPool: () => fromPrisma(prisma),
    close: () => prisma.$disconnect(),
  };
});

describeAdapter("Prisma with an extension", (url) => {
  const prisma = clientOf(url).$extends({ query: { $allOperations: ({ args, query }) => query(args) } });
  return {
    transaction: (work) =>
      prisma.$transaction((tx) => work({ tx: fromPrisma(tx), run: async (text) => await tx.$executeRawUnsafe(text) })),
    // @ts-expect-error: the types refuse it, too.
    adaptPool: () => fromPrisma(prisma),
    close: () => prisma.$disconnect(),
  };
});
