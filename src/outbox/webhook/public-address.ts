// Which addresses of the internet protocol lie in the open internet. Everything else is a private network: a webhook must not reach it
// because a customer wrote its address, or a name that leads to it, into a form.
import { isIP } from "node:net";

/** First address, bits that count, and what lies there. */
type Range = readonly [first: string, bits: number, what: string];

/** IANA's special purpose registries, and what hosts of clouds answer to under an address that looks public. */
const NOT_PUBLIC_V4: readonly Range[] = [
  ["0.0.0.0", 8, "unspecified"],
  ["10.0.0.0", 8, "private"],
  ["100.64.0.0", 10, "shared by a carrier"],
  ["127.0.0.0", 8, "loopback"],
  ["168.63.129.16", 32, "of the cloud's platform"],
  ["169.254.0.0", 16, "link-local"],
  ["172.16.0.0", 12, "private"],
  ["192.0.0.0", 24, "reserved"],
  ["192.0.2.0", 24, "for documentation"],
  ["192.88.99.0", 24, "reserved"],
  ["192.168.0.0", 16, "private"],
  ["198.18.0.0", 15, "for benchmarks"],
  ["198.51.100.0", 24, "for documentation"],
  ["203.0.113.0", 24, "for documentation"],
  ["224.0.0.0", 4, "multicast"],
  ["240.0.0.0", 4, "reserved"],
];

/** In front of what follows: the first range that fits gives its name. Outside of 2000::/3 nothing is public. */
const NOT_PUBLIC_V6: readonly Range[] = [
  ["::", 128, "unspecified"],
  ["::1", 128, "loopback"],
  ["::ffff:0:0", 96, "an IPv4 address in disguise"],
  ["::", 96, "an IPv4 address in disguise"],
  ["64:ff9b:1::", 48, "translated to a private network"],
  ["fc00::", 7, "private"],
  ["fe80::", 10, "link-local"],
  ["fec0::", 10, "private"],
  ["ff00::", 8, "multicast"],
  ["2001::", 32, "a tunnel (Teredo)"],
  ["2001::", 23, "reserved"],
  ["2001:db8::", 32, "for documentation"],
  ["2002::", 16, "a tunnel (6to4)"],
  ["3fff::", 20, "for documentation"],
];

const PUBLIC_V6: Range = ["2000::", 3, "public"];
/** Where IPv4 is reached through a translator (NAT64) every IPv4 host has such an address: it is judged by the one inside. */
const TRANSLATED: Range = ["64:ff9b::", 96, "translated"];

/** What kind of address this is when it is not public; undefined when it is. What is no address at all is not public. */
export function whyNotPublic(address: string): string | undefined {
  // A zone (fe80::1%eth0) names a network interface: public addresses have none.
  if (address.includes("%")) return "bound to an interface";
  const bytes = bytesOf(address);
  if (bytes === undefined) return "no address";
  if (bytes.length === 4) return firstFit(bytes, RANGES_V4);
  if (isIn(bytes, parsed(TRANSLATED))) return firstFit(bytes.subarray(12), RANGES_V4);
  return firstFit(bytes, RANGES_V6) ?? (isIn(bytes, parsed(PUBLIC_V6)) ? undefined : "reserved");
}

/** The 4 or 16 bytes of an address in its usual spelling; undefined for anything else. */
export function bytesOf(address: string): Uint8Array | undefined {
  const family = isIP(address);
  if (family === 0 || address.includes("%")) return undefined;
  return family === 4 ? Uint8Array.from(address.split("."), Number) : bytesOfV6(address);
}

function bytesOfV6(address: string): Uint8Array {
  const [before = "", after] = address.split("::");
  const head = groupsOf(before);
  const tail = groupsOf(after ?? "");
  const groups = [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

/** Four hexadecimal digits each; the last two may be written as an IPv4 address. */
function groupsOf(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((part) => {
    if (!part.includes(".")) return [Number.parseInt(part, 16)];
    const [a, b, c, d] = part.split(".").map(Number) as [number, number, number, number];
    return [a * 256 + b, c * 256 + d];
  });
}

interface ParsedRange {
  readonly first: Uint8Array;
  readonly bits: number;
  readonly what: string;
}

function parsed([first, bits, what]: Range): ParsedRange {
  return { first: bytesOf(first)!, bits, what };
}

const RANGES_V4 = NOT_PUBLIC_V4.map(parsed);
const RANGES_V6 = NOT_PUBLIC_V6.map(parsed);

const firstFit = (bytes: Uint8Array, ranges: readonly ParsedRange[]): string | undefined =>
  ranges.find((range) => isIn(bytes, range))?.what;

function isIn(bytes: Uint8Array, { first, bits }: ParsedRange): boolean {
  for (let bit = 0; bit < bits; bit += 8) {
    const mask = bits - bit >= 8 ? 0xff : (0xff << (8 - (bits - bit))) & 0xff;
    if (((bytes[bit >> 3]! ^ first[bit >> 3]!) & mask) !== 0) return false;
  }
  return true;
}
