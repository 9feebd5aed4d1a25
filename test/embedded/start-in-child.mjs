// A process that starts an embedded PostgreSQL, tells how that went in one line of JSON, and then obeys lines on its input.
// Its argument is JSON: where the compiled launcher lies, and the options of startEmbedded().

import { createInterface } from "node:readline";

const { entry, options, deafToSignals } = JSON.parse(process.argv[2]);
if (deafToSignals) for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});

const { startEmbedded } = await import(entry);

const tell = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);
tell({ loaded: true });
let server;
try {
  server = await startEmbedded(options);
  const { url, adopted, binDir, version, dataDir } = server;
  tell({ url, adopted, binDir, version, dataDir });
} catch (error) {
  tell({ error: { name: error.name, code: error.code, message: error.message } });
}
for await (const order of createInterface({ input: process.stdin })) {
  if (order === "stop") await server?.stop();
  tell({ done: order });
}
