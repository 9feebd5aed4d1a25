// Tells which JavaScript files of the project Node loads, so that `dev` knows what to watch.
import * as nodeModule from "node:module";
import { fileURLToPath } from "node:url";
import { MessageChannel } from "node:worker_threads";

type Load = (url: string, context: unknown, next: (url: string, context: unknown) => unknown) => unknown;
type RegisterHooks = (hooks: { load: Load }) => void;

/** The hook of older versions of Node runs in a thread of its own. */
const HOOK = `let port;
export const initialize = (given) => { port = given; };
export const load = (url, context, next) => { port.postMessage(url); return next(url, context); };`;

/** From now on, `onFile` is told of every file that is loaded and does not belong to a package. */
export function tellLoadedFiles(onFile: (file: string) => void): void {
  const tell = (url: string) => {
    if (url.startsWith("file:") && !url.includes("/node_modules/")) onFile(fileURLToPath(new URL(url)));
  };
  const { registerHooks } = nodeModule as { registerHooks?: RegisterHooks };
  if (registerHooks !== undefined) {
    registerHooks({
      load: (url, context, next) => {
        tell(url);
        return next(url, context);
      },
    });
    return;
  }
  const { port1, port2 } = new MessageChannel();
  port1.on("message", tell).unref();
  nodeModule.register(`data:text/javascript,${encodeURIComponent(HOOK)}`, { data: port2, transferList: [port2] });
}
