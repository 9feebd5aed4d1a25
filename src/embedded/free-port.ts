// Finds a port of 127.0.0.1 that no process listens on. Another process may take it before the server does: the caller tries again then.

import { createServer } from "node:net";

/** The wanted port if it is free, else one that the system gives. */
export async function freePort(wanted?: number): Promise<number> {
  if (wanted !== undefined && (await listenBriefly(wanted)) === wanted) return wanted;
  const port = await listenBriefly(0);
  if (port === undefined) throw new Error("The system gave no free port on 127.0.0.1.");
  return port;
}

function listenBriefly(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen({ host: "127.0.0.1", port, exclusive: true }, () => {
      const address = server.address();
      const taken = typeof address === "object" && address !== null ? address.port : undefined;
      server.close(() => resolve(taken));
    });
  });
}
