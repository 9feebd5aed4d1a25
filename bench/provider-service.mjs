// A service outside, for `--only providers`, in a process of its own so that nothing but its own work delays its clock: each call takes so long as it is told. Tells, when
// it is asked, when calls arrived and how many were under way.
import { createServer } from "node:http";
import { constants, setPriority } from "node:os";

try {
  // The clock of the measurement shall not wait for what is measured.
  setPriority(0, constants.priority.PRIORITY_HIGHEST);
} catch {}

const latencyMs = Number(process.argv[2]);
const arrivals = [];
let running = 0;
const server = createServer((request, response) => {
  if (request.url === "/log") return response.end(JSON.stringify(arrivals));
  arrivals.push({ at: performance.now(), running: ++running });
  response.once("close", () => running--);
  setTimeout(() => response.end("done"), latencyMs);
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
process.on("disconnect", () => process.exit(0));
