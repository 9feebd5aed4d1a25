// A provider for tests: a real HTTP server in a process of its own, so that nothing but its own work delays its clock. Keeps a log of what arrived and when, how
// many calls were under way, and what it billed. POST /control changes how it behaves, GET /log tells.
import { createServer } from "node:http";
import { constants, setPriority } from "node:os";

try {
  // The clock of the measurement shall not wait for what is measured.
  setPriority(0, constants.priority.PRIORITY_HIGHEST);
} catch {}

/** By path: what it answers. */
const modes = new Map();
const log = [];
const underWay = new Map();

const read = async (request) => {
  let text = "";
  for await (const part of request) text += part;
  return text === "" ? {} : JSON.parse(text);
};

const server = createServer(async (request, response) => {
  const at = performance.timeOrigin + performance.now();
  const url = new URL(request.url, "http://simulator");
  if (url.pathname === "/control") {
    for (const [name, mode] of Object.entries(await read(request))) modes.set(name, mode);
    return response.end("{}");
  }
  if (url.pathname === "/log") return response.end(JSON.stringify(log));
  const provider = url.pathname.slice(1);
  const mode = modes.get(provider) ?? {};
  const running = (underWay.get(provider) ?? 0) + 1;
  underWay.set(provider, running);
  const entry = { provider, at, job: url.searchParams.get("job"), running, status: mode.status ?? 200, billed: false };
  log.push(entry);
  let isOver = false;
  const over = () => {
    if (isOver) return;
    isOver = true;
    entry.endedAt = performance.timeOrigin + performance.now();
    underWay.set(provider, underWay.get(provider) - 1);
  };
  response.on("close", over);
  const answer = () => {
    if (response.destroyed) return;
    entry.billed = entry.status < 400;
    over();
    response.writeHead(entry.status, { "content-type": "text/plain", ...mode.headers });
    response.end(entry.status < 400 ? `answer of ${provider}` : "no");
  };
  if (mode.hangs) return;
  setTimeout(answer, mode.latencyMs ?? 0);
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
process.on("disconnect", () => process.exit(0));
