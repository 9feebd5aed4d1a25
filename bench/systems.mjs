// The contestants: Fairmill, with and without limits, and the ceiling. All are adapters of one interface, so everything else treats them alike.
import * as batchedAdapter from "./adapters/batched.mjs";
import * as fairmillAdapter from "./adapters/fairmill.mjs";
import * as limitedAdapter from "./adapters/limited.mjs";
import * as rawAdapter from "./adapters/raw.mjs";

const system = (name, adapter, file) => ({ name, adapter, file: new URL(`adapters/${file}`, import.meta.url).href });

export const fairmill = system("Fairmill", fairmillAdapter, "fairmill.mjs");
export const batched = system("Fairmill with a batch", batchedAdapter, "batched.mjs");
export const limited = system("Fairmill with limits", limitedAdapter, "limited.mjs");
export const raw = system("raw SQL", rawAdapter, "raw.mjs");

/** How the settings of a Fairmill worker read in a table. */
export const inWords = ({ concurrency, prefetch = 0 }) =>
  `concurrency ${concurrency.toLocaleString("en")}, prefetch ${prefetch.toLocaleString("en")}`;
