// Around every test file, whatever it imports: what its tests left running is ended, and what they changed of their process is put back, because the
// next file runs in the same one.
import { afterAll, afterEach, beforeEach } from "vitest";
import { beginTest, endLeftovers, endOfFile } from "./leftovers.js";

const before = { ...process.env };

beforeEach(beginTest);
afterEach(endLeftovers);

afterAll(async () => {
  await endOfFile();
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  for (const [name, value] of Object.entries(before)) if (process.env[name] !== value) process.env[name] = value;
});
