// The entry `fairmill/testing`: handlers run by a test, on a schema of its own, without workers and without waiting.

// The members that features add to JobContext.
import "../worker/context-members.js";

export type { Wanted } from "./expectations.js";
export type { Drained } from "./kit-runner.js";
export type { SeenJob, SeenMessage, SeenRun } from "./seen.js";
export { createTestKit, type PartOf, type TestKit, type TestKitOptions } from "./test-kit.js";
export { startTestServer, type TestServer } from "./test-server.js";
