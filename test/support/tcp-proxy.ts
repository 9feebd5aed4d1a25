// A TCP proxy before PostgreSQL that understands just enough of its protocol to break a connection at a chosen moment: the answer to
// one statement is swallowed after it took effect, notifications do not arrive, both directions go silent, everything is reset.
import { createServer, type Server, Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface SentStatement {
  /** The application_name of the connection. */
  readonly application: string;
  readonly text: string;
}

type Fate = "reset" | "hang";

interface Trap {
  readonly text: string | RegExp;
  readonly fate: Fate | "hold";
  readonly sprung: (pass: () => void) => void;
}

/** Messages of the protocol: from clients a first one without a type, then a type, a length that counts itself, and the rest. */
class Splitter {
  #rest: Buffer = Buffer.alloc(0);
  #typeBytes: 0 | 1;

  constructor(side: "client" | "server") {
    this.#typeBytes = side === "client" ? 0 : 1;
  }

  push(chunk: Buffer): Buffer[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const messages: Buffer[] = [];
    for (;;) {
      if (this.#rest.length < this.#typeBytes + 4) return messages;
      const bytes = this.#typeBytes + this.#rest.readInt32BE(this.#typeBytes);
      if (this.#rest.length < bytes) return messages;
      messages.push(this.#rest.subarray(0, bytes));
      this.#rest = this.#rest.subarray(bytes);
      this.#typeBytes = 1;
    }
  }
}

/** What ends at a NUL, behind type and length. */
const wordsOf = (message: Buffer) => message.subarray(5).toString("utf8").split("\0");
const typeOf = (message: Buffer) => String.fromCharCode(message[0]!);

class Connection {
  readonly #proxy: TcpProxy;
  readonly #client: Socket;
  readonly #server: Socket;
  application = "";
  readonly #parsed = new Map<string, string>();
  #isStarted = false;
  /** ReadyForQuery messages: asked for by the client, and seen from the server. */
  #asked = 1;
  #answered = 0;
  #trap: (Trap & { readonly after: number }) | undefined;
  /** An answer that is held. */
  readonly #kept: Buffer[] = [];
  #isSilent = false;

  constructor(proxy: TcpProxy, client: Socket, server: Socket) {
    this.#proxy = proxy;
    this.#client = client;
    this.#server = server;
    const fromClient = new Splitter("client");
    const fromServer = new Splitter("server");
    client.on("data", (chunk: Buffer) => {
      for (const message of fromClient.push(chunk)) this.#hearClient(message);
    });
    server.on("data", (chunk: Buffer) => {
      for (const message of fromServer.push(chunk)) this.#hearServer(message);
    });
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  }

  reset(): void {
    this.#client.resetAndDestroy();
    this.#server.destroy();
  }

  silence(): void {
    this.#isSilent = true;
  }

  #hearClient(message: Buffer): void {
    if (!this.#isStarted) {
      this.#isStarted = true;
      const words = message.subarray(8).toString("latin1").split("\0");
      this.application = words[words.indexOf("application_name") + 1] ?? "";
      if (this.#proxy.isClosed === this.application) return this.reset();
    } else {
      const type = typeOf(message);
      if (type === "P") this.#hearParse(message);
      if (type === "B" || type === "Q") this.#hearStatement(message);
      if (type === "S" || type === "Q") {
        if (this.#answered >= this.#asked) this.#proxy.roundTrips++;
        this.#asked++;
      }
    }
    if (!this.#isSilent) this.#proxy.pass(message, this.#server);
  }

  /** A statement is parsed under a name, which may be empty, and used under it, once or often. */
  #hearParse(message: Buffer): void {
    const [name, text] = wordsOf(message) as [string, string];
    this.#parsed.set(name, text);
  }

  #hearStatement(message: Buffer): void {
    // A Bind message has the names of a portal and of the statement.
    const [first, second] = wordsOf(message) as [string, string];
    const text = typeOf(message) === "B" ? (this.#parsed.get(second) ?? "") : first;
    this.#proxy.statements.push({ application: this.application, text });
    const trap = this.#trap ? undefined : this.#proxy.takeTrap(text);
    if (trap) this.#trap = { ...trap, after: this.#asked };
  }

  #hearServer(message: Buffer): void {
    const type = typeOf(message);
    const isTrapped = this.#trap !== undefined && this.#answered >= this.#trap.after;
    if (type === "Z") this.#answered++;
    if (isTrapped) {
      const { fate, sprung } = this.#trap!;
      if (fate === "hold") this.#kept.push(message);
      // The statement has been carried out and committed; its answer ends here.
      if (type !== "Z") return;
      if (fate === "reset") this.reset();
      else if (fate === "hang") this.#isSilent = true;
      else this.#trap = undefined;
      return sprung(() => {
        for (const kept of this.#kept.splice(0)) this.#proxy.pass(kept, this.#client);
      });
    }
    if (this.#isSilent || (type === "A" && this.#proxy.isDeaf)) return;
    this.#proxy.pass(message, this.#client);
    if (type === "A") this.#proxy.tellHeard(message);
  }
}

export class TcpProxy {
  readonly statements: SentStatement[] = [];
  /** How often a client sent something when all that it had sent before was answered. */
  roundTrips = 0;
  /** Notifications do not arrive, as behind a transaction-mode pooler. */
  isDeaf = false;
  /** New connections are refused: all, or those of one application. */
  isClosed: boolean | string = false;
  /** So many have been, of all. */
  refused = 0;
  /** Every message arrives so much later. */
  delayMs = 0;
  readonly #server: Server;
  readonly #connections = new Set<Connection>();
  readonly #sockets = new Set<Socket>();
  readonly #traps: Trap[] = [];
  readonly #awaited: { readonly text: string; readonly heard: () => void }[] = [];
  url = "";

  private constructor(target: URL) {
    this.#server = createServer((client) => {
      if (this.isClosed === true) {
        this.refused++;
        return void client.resetAndDestroy();
      }
      const server = new Socket();
      const connection = new Connection(this, client, server);
      this.#connections.add(connection);
      for (const socket of [client, server]) {
        socket.setNoDelay(true);
        this.#sockets.add(socket);
        socket.on("close", () => this.#sockets.delete(socket));
      }
      client.on("close", () => this.#connections.delete(connection));
      server.connect(Number(target.port), target.hostname);
    });
  }

  /** A proxy before the database of this address; ends with the test. */
  static async before(databaseUrl: string): Promise<TcpProxy> {
    const url = new URL(databaseUrl);
    const proxy = new TcpProxy(new URL(databaseUrl));
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    url.hostname = "127.0.0.1";
    url.port = String((proxy.#server.address() as { port: number }).port);
    proxy.url = url.href;
    onTestFinished(() => proxy.close());
    return proxy;
  }

  /**
   * The next statement that contains `text`, or fits it, takes effect, but its answer is swallowed; then the connection is reset, or hangs for
   * ever. Resolves when that has happened.
   */
  swallowAnswerTo(text: string | RegExp, fate: Fate = "reset"): Promise<void> {
    return new Promise((resolve) => this.#traps.push({ text, fate, sprung: () => resolve() }));
  }

  /** The answer to the next statement that contains `text`, or fits it, arrives when `pass` is called; `caught`: the statement has taken effect. */
  holdAnswerTo(text: string | RegExp): { readonly caught: Promise<void>; pass(): void } {
    let passOn = (): void => {};
    const caught = new Promise<void>((resolve) => {
      const sprung = (pass: () => void) => {
        passOn = pass;
        resolve();
      };
      this.#traps.push({ text, fate: "hold", sprung });
    });
    return { caught, pass: () => passOn() };
  }

  /** Resolves when a notification that contains `text` has been passed on. */
  heard(text: string): Promise<void> {
    return new Promise((resolve) => this.#awaited.push({ text, heard: resolve }));
  }

  /** For connections: a notification is passed on. */
  tellHeard(message: Buffer): void {
    const words = message.toString("utf8");
    for (const one of this.#awaited.filter(({ text }) => words.includes(text))) one.heard();
  }

  /** Resets every connection, or those of one application. */
  resetAll(application?: string): void {
    for (const connection of this.#connections)
      if (application === undefined || connection.application === application) connection.reset();
  }

  /** Connections stay open, but nothing goes through them any more: the other side has vanished without a word. */
  silence(application?: string): void {
    for (const connection of this.#connections)
      if (application === undefined || connection.application === application) connection.silence();
  }

  connectionsOf(application: string): number {
    return [...this.#connections].filter((connection) => connection.application === application).length;
  }

  count(text: string): number {
    return this.statements.filter((statement) => statement.text.includes(text)).length;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** For connections: takes the first trap that this statement springs. */
  takeTrap(text: string): Trap | undefined {
    const index = this.#traps.findIndex((trap) =>
      typeof trap.text === "string" ? text.includes(trap.text) : trap.text.test(text),
    );
    return index < 0 ? undefined : this.#traps.splice(index, 1)[0];
  }

  /** For connections: hands a message on, after the delay. */
  pass(message: Buffer, to: Socket): void {
    if (this.delayMs === 0) to.write(message);
    else setTimeout(() => to.writable && to.write(message), this.delayMs);
  }
}
