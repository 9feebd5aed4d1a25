import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bytesOf, whyNotPublic } from "../../../src/outbox/webhook/public-address.js";

describe("S11: which addresses are not in the open internet", () => {
  test.each([
    ["0.0.0.0", "unspecified"],
    ["0.255.255.255", "unspecified"],
    ["10.0.0.0", "private"],
    ["10.255.255.255", "private"],
    ["100.64.0.0", "shared by a carrier"],
    ["100.127.255.255", "shared by a carrier"],
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["168.63.129.16", "of the cloud's platform"],
    ["169.254.169.254", "link-local"],
    ["172.16.0.0", "private"],
    ["172.31.255.255", "private"],
    ["192.0.0.8", "reserved"],
    ["192.0.2.1", "for documentation"],
    ["192.88.99.1", "reserved"],
    ["192.168.0.1", "private"],
    ["198.18.0.1", "for benchmarks"],
    ["198.19.255.255", "for benchmarks"],
    ["198.51.100.1", "for documentation"],
    ["203.0.113.1", "for documentation"],
    ["224.0.0.1", "multicast"],
    ["239.255.255.255", "multicast"],
    ["240.0.0.1", "reserved"],
    ["255.255.255.255", "reserved"],
    ["::", "unspecified"],
    ["::1", "loopback"],
    ["0:0:0:0:0:0:0:1", "loopback"],
    ["::ffff:127.0.0.1", "an IPv4 address in disguise"],
    ["::ffff:8.8.8.8", "an IPv4 address in disguise"],
    ["::ffff:7f00:1", "an IPv4 address in disguise"],
    ["::127.0.0.1", "an IPv4 address in disguise"],
    ["64:ff9b::127.0.0.1", "loopback"],
    ["64:ff9b::a9fe:a9fe", "link-local"],
    ["64:ff9b:1::8.8.8.8", "translated to a private network"],
    ["100::1", "reserved"],
    ["2001::1", "a tunnel (Teredo)"],
    ["2001:0:7f00:1::", "a tunnel (Teredo)"],
    ["2001:2::1", "reserved"],
    ["2001:1ff:ffff::1", "reserved"],
    ["2001:db8::1", "for documentation"],
    ["2002:7f00:1::", "a tunnel (6to4)"],
    ["2002:808:808::1", "a tunnel (6to4)"],
    ["3fff:fff::1", "for documentation"],
    ["5f00::1", "reserved"],
    ["fc00::1", "private"],
    ["fd00:ec2::254", "private"],
    ["fe80::1", "link-local"],
    ["fe80::1%eth0", "bound to an interface"],
    ["2606:4700::1%1", "bound to an interface"],
    ["febf::1", "link-local"],
    ["fec0::1", "private"],
    ["ff02::1", "multicast"],
    ["", "no address"],
    ["localhost", "no address"],
    ["127.1", "no address"],
    ["0177.0.0.1", "no address"],
    ["1.2.3.4.5", "no address"],
  ])("%s: %s", (address, why) => {
    expect(whyNotPublic(address)).toBe(why);
  });

  test.each([
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2000::",
    "2001:200::",
    "2001:4860:4860::8888",
    "2606:4700:4700::1111",
    "3ffe:ffff::1",
    "64:ff9b::8.8.8.8",
  ])("%s is", (address) => {
    expect(whyNotPublic(address)).toBeUndefined();
  });

  const octet = fc.integer({ min: 0, max: 255 });
  const dotted = fc.tuple(octet, octet, octet, octet).map((parts) => parts.join("."));
  const group = fc.integer({ min: 0, max: 0xffff });

  test("an IPv4 address is judged by nothing but its number", () => {
    fc.assert(
      fc.property(fc.tuple(octet, octet, octet, octet), ([a, b, c, d]) => {
        const inside =
          [0, 10, 127].includes(a) ||
          a >= 224 ||
          (a === 100 && b >= 64 && b < 128) ||
          (a === 168 && b === 63 && c === 129 && d === 16) ||
          (a === 169 && b === 254) ||
          (a === 172 && b >= 16 && b < 32) ||
          (a === 192 && (b === 168 || (b === 0 && (c === 0 || c === 2)) || (b === 88 && c === 99))) ||
          (a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100))) ||
          (a === 203 && b === 0 && c === 113);
        expect(whyNotPublic(`${a}.${b}.${c}.${d}`) !== undefined).toBe(inside);
      }),
      { numRuns: 2_000 },
    );
  });

  test("translated addresses are as public as what they lead to; disguised ones and tunnels never are", () => {
    fc.assert(
      fc.property(dotted, group, (v4, rest) => {
        const [hi, lo] = [hex(v4.split(".").slice(0, 2)), hex(v4.split(".").slice(2))];
        expect(whyNotPublic(`64:ff9b::${v4}`)).toBe(whyNotPublic(v4));
        expect(whyNotPublic(`::ffff:${v4}`)).toBeDefined();
        expect(whyNotPublic(`::${v4}`)).toBeDefined();
        expect(whyNotPublic(`2002:${hi}:${lo}::${rest.toString(16)}`)).toBeDefined();
        expect(whyNotPublic(`2001:0:${hi}:${lo}::${rest.toString(16)}`)).toBeDefined();
      }),
    );
  });

  test("every spelling of an IPv6 address is read as the same bytes", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constant(0), group), { minLength: 8, maxLength: 8 }), (groups) => {
        const long = groups.map((part) => part.toString(16).padStart(4, "0")).join(":");
        const short = new URL(`http://[${long}]/`).hostname.slice(1, -1);
        const mixed = `${long.slice(0, 30)}${groups
          .slice(6)
          .flatMap((part) => [part >> 8, part & 255])
          .join(".")}`;
        const bytes = Uint8Array.from(groups.flatMap((part) => [part >> 8, part & 255]));
        for (const spelling of [long, long.toUpperCase(), short, mixed]) expect(bytesOf(spelling)).toEqual(bytes);
      }),
    );
  });

  test("outside of 2000::/3 and the translator nothing is public", () => {
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        const address = groups.map((part) => part.toString(16)).join(":");
        if (groups[0]! >> 13 !== 1 && groups[0] !== 0x64) expect(whyNotPublic(address)).toBeDefined();
      }),
    );
  });
});

const hex = (pair: string[]) => (Number(pair[0]) * 256 + Number(pair[1])).toString(16);
