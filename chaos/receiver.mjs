// The receiver outside: takes keys, applies each once, is busy now and then, and now and then breaks the line after it has applied a message.
import { createServer } from "node:http";

const BUSY = 0.05;
const BREAKS = 0.03;

export async function startReceiver(random) {
  /** By key: the body that was applied, and how often it came. */
  const applied = new Map();
  /** Keys that came again with another body: a key that means two messages. */
  const changed = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    if (random() < BUSY) return void response.writeHead(503).end();
    const key = request.headers["idempotency-key"];
    const known = applied.get(key);
    if (known === undefined) applied.set(key, { body, times: 1 });
    else {
      known.times++;
      if (known.body !== body) changed.push(key);
    }
    if (random() < BREAKS) return void request.socket.destroy();
    response.writeHead(200).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    applied,
    changed,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
