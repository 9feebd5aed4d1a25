// A server begins to listen; a port that it cannot have is told in words.
import type { Server } from "node:net";
import { ConfigError } from "./errors.js";

export async function startListening(server: Server, { host, port }: { readonly host: string; readonly port: number }) {
  await new Promise<void>((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => reject(inWords(error, host, port));
    server.once("error", fail);
    server.listen(port, host, () => {
      server.off("error", fail);
      resolve();
    });
  });
}

function inWords(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === "EADDRINUSE")
    return new ConfigError(
      "port",
      `port: ${port} of ${host} is taken by another process. Name another one, or 0 for any that is free.`,
    );
  if (error.code === "EACCES")
    return new ConfigError("port", `port: ${port} of ${host} is not for this user to take. Name one above 1023.`);
  if (error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND")
    return new ConfigError("host", `host: "${host}" is no address of this machine.`);
  return error;
}
