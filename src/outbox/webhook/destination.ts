// Where a webhook goes: the address is checked as it is written, then every address that its name leads to. The name is resolved
// once, and the connection goes to what was checked: a name that resolves differently the next time gains nothing.
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { whyNotPublic } from "./public-address.js";
import { WebhookDestinationError, WebhookUnreachableError } from "./webhook-errors.js";

export interface Address {
  readonly address: string;
  readonly family: number;
}

/** All addresses of a name. */
export type Resolve = (hostname: string) => Promise<readonly Address[]>;

export interface DestinationRules {
  /** Lets webhooks reach private addresses: for tests and inside networks. */
  readonly allowPrivate: boolean;
  readonly allowHttp: boolean;
  /** Which ports; undefined: 80, 443 and those from 1024. */
  readonly ports: readonly number[] | undefined;
}

export interface Destination {
  readonly isSecure: boolean;
  /** Without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** Path and query. */
  readonly path: string;
  /** What messages may show: the rest of an address can hold secrets. */
  readonly origin: string;
}

/** More addresses than this no honest name has. */
const ADDRESSES_MAX = 64;
const URL_CHARS_MAX = 8_192;

/** Checks what can be checked without a lookup. */
export function destinationOf(address: string | URL, rules: DestinationRules): Destination {
  const url = parse(address);
  const isSecure = url.protocol === "https:";
  if (!isSecure && url.protocol !== "http:")
    throw new WebhookDestinationError(`A webhook goes to https://…, not to ${url.protocol}`);
  // The parser has made of every spelling (0x7f.1, 2130706433, 0177.0.0.1) the usual one.
  const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = url.port === "" ? (isSecure ? 443 : 80) : Number(url.port);
  const { origin } = url;
  if (url.username !== "" || url.password !== "")
    throw new WebhookDestinationError(`${origin}: name and password do not belong into an address; use headers.`);
  if (!isSecure && !rules.allowHttp)
    throw new WebhookDestinationError(`${origin}: http can be read on the way; use https, or set allowHttp.`);
  if (!isAllowedPort(port, rules.ports))
    throw new WebhookDestinationError(`${origin}: port ${port} is none that webhooks may use; set ports.`);
  if (isIP(hostname) !== 0) checkAddresses(origin, [{ address: hostname, family: 0 }], rules);
  return { isSecure, hostname, port, path: `${url.pathname}${url.search}`, origin };
}

function parse(address: string | URL): URL {
  const text = typeof address === "string" || address instanceof URL ? String(address) : "";
  const url = text.length <= URL_CHARS_MAX && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.hostname === "")
    // Not shown: it may hold secrets.
    throw new WebhookDestinationError('The address of the webhook is none, like "https://example.com/hooks".');
  return url;
}

/** Below 1024 live mail, names, files: a message there might be taken for their protocol. */
const isAllowedPort = (port: number, ports: readonly number[] | undefined) =>
  ports === undefined ? port === 80 || port === 443 || port >= 1024 : ports.includes(port);

/** The checked addresses of the destination: the connection may go to these and to no other. */
export async function addressesOf(
  { hostname, origin }: Destination,
  rules: DestinationRules,
  resolve: Resolve,
): Promise<readonly Address[]> {
  const family = isIP(hostname);
  if (family !== 0) return [{ address: hostname, family }];
  let addresses: readonly Address[];
  try {
    addresses = await resolve(hostname);
  } catch (error) {
    throw new WebhookUnreachableError(origin, "its name has no address", error);
  }
  if (addresses.length === 0) throw new WebhookUnreachableError(origin, "its name has no address");
  if (addresses.length > ADDRESSES_MAX)
    throw new WebhookDestinationError(`${origin}: its name has ${addresses.length} addresses.`);
  checkAddresses(origin, addresses, rules);
  return addresses.map(({ address }) => ({ address, family: isIP(address) }));
}

/** One that is not public spoils them all: which of them is used is up to chance. */
function checkAddresses(origin: string, addresses: readonly Address[], rules: DestinationRules): void {
  for (const { address } of addresses) {
    if (isIP(address) === 0) throw new WebhookDestinationError(`${origin}: its name leads to what is no address.`);
    const why = rules.allowPrivate ? undefined : whyNotPublic(address);
    if (why !== undefined)
      // The address itself is not shown: it would show the caller what our names resolve to.
      throw new WebhookDestinationError(`${origin}: its address is not in the open internet (${why}).`);
  }
}

/** As the system does it: hosts file, search domains and all. */
export const systemResolve: Resolve = (hostname) => lookup(hostname, { all: true });
