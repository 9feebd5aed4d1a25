// Asks a port whether a PostgreSQL answers there, without a driver and without a password.

import { connect } from "node:net";

const PING_WAIT_MS = 5_000;

/** The first message any client may send: "do you speak TLS?". A server answers with one letter, S or N. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

export function answersAsPostgres(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, timeout: PING_WAIT_MS });
    const finish = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => socket.write(SSL_REQUEST));
    socket.once("data", (data) => finish(data[0] === 0x53 || data[0] === 0x4e));
    socket.once("timeout", () => finish(false));
    socket.once("error", () => finish(false));
    socket.once("close", () => finish(false));
  });
}
