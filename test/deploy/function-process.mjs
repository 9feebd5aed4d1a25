// Stands for a platform of functions: runs a compiled function of the guide, and answers HTTP by it. Deno's `serve` and Supabase's `EdgeRuntime` are shims;
// a module without `Deno.serve` is a route of Next.js, which exports a function for each method.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

let serve;
globalThis.Deno = {
  serve: (handler) => {
    serve = handler;
  },
};
globalThis.EdgeRuntime = { waitUntil: (work) => work.then(() => process.send({ kept: true })) };

const module = await import(pathToFileURL(process.argv[2]).href);
const answer = serve ?? ((request) => module[request.method](request));
const server = createServer(async (incoming, outgoing) => {
  const { method, url, headers } = incoming;
  const response = await answer(new Request(`http://${headers.host}${url}`, { method, headers }));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
});
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port, exports: Object.keys(module) }));
