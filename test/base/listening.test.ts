import { createServer, type Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { ConfigError } from "../../src/base/errors.js";
import { startListening } from "../../src/base/listening.js";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});
const serve = () => {
  const server = createServer();
  servers.push(server);
  return server;
};

test("a port that is taken is named, with what to do", async () => {
  const first = serve();
  await startListening(first, { host: "127.0.0.1", port: 0 });
  const { port } = first.address() as { port: number };
  const refused = startListening(serve(), { host: "127.0.0.1", port });
  await expect(refused).rejects.toThrow(ConfigError);
  await expect(refused).rejects.toThrow(`port: ${port} of 127.0.0.1 is taken by another process.`);
});

test("an address of another machine is named", async () => {
  await expect(startListening(serve(), { host: "192.0.2.1", port: 0 })).rejects.toThrow(
    'host: "192.0.2.1" is no address of this machine.',
  );
});
