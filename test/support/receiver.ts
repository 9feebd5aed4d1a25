// A receiver of messages that counts: what it took, under which key, how often, with which body. It is slow, refuses and hangs up by dice,
// after it has taken a message as well as before.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Taken {
  /** Bodies that came with the key, in order. */
  readonly bodies: string[];
}

export interface CountingReceiver {
  readonly url: string;
  /** By channel, then by key. */
  readonly taken: ReadonlyMap<string, ReadonlyMap<string, Taken>>;
  /** How often it refused, and hung up after it had taken a message. */
  readonly refused: number;
  readonly hungUp: number;
  /** Messages that it has taken and not answered. */
  readonly unanswered: number;
  close(): Promise<void>;
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let body = "";
  for await (const part of request) body += part;
  return body;
};

export async function startReceiver(random: () => number): Promise<CountingReceiver> {
  const taken = new Map<string, Map<string, Taken>>();
  let refused = 0;
  let hungUp = 0;
  let unanswered = 0;
  const of = (channel: string) => {
    const known = taken.get(channel) ?? new Map<string, Taken>();
    taken.set(channel, known);
    return known;
  };
  const take = async (request: IncomingMessage, response: ServerResponse, channel: string) => {
    const body = await bodyOf(request);
    if (random() < 0.05) {
      refused++;
      return response.writeHead(503).end();
    }
    const key = String(request.headers["idempotency-key"]);
    const one = of(channel).get(key) ?? { bodies: [] };
    of(channel).set(key, one);
    one.bodies.push(body);
    if (random() < 0.02) {
      hungUp++;
      return request.socket.destroy();
    }
    // Between taking and answering is where a death leaves doubt.
    unanswered++;
    setTimeout(() => {
      unanswered--;
      response.writeHead(200).end(`taken ${key}`);
    }, random() * 60);
  };
  const server = createServer((request, response) => {
    const [, channel = "", key] = (request.url ?? "").split("/");
    if (request.method === "POST") take(request, response, channel).catch(() => {});
    else response.writeHead(of(channel).has(key ?? "") ? 200 : 404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken,
    get refused() {
      return refused;
    },
    get hungUp() {
      return hungUp;
    },
    get unanswered() {
      return unanswered;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
