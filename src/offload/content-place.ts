// The keys of files that hold contents: fairmill/<digest of the tenant>/<what>/<digest of the content>-<dice>.json. The first digest keeps a reference
// within its tenant and names nobody, the second one says whether the file is what was put there, and the dice make every file that of one call: it can
// be removed with its job.
import { createHash, randomBytes } from "node:crypto";

export const CONTENTS_PREFIX = "fairmill/";

const digestOf = (text: string | Uint8Array): string => createHash("sha256").update(text).digest("hex");

/** Where the contents of a tenant lie; its digest is SHA-256 of its name, as in the record of an erasure. */
export const placeOfTenant = (tenantDigest: string): string => `${CONTENTS_PREFIX}${tenantDigest}/`;

export const newKey = (tenant: string, what: "payload" | "result", json: string): string =>
  `${placeOfTenant(digestOf(tenant))}${what}/${digestOf(json)}-${randomBytes(12).toString("hex")}.json`;

export const isOfTenant = (key: unknown, tenant: string): key is string =>
  typeof key === "string" && key.startsWith(placeOfTenant(digestOf(tenant)));

/** Whether the file has the content of which its key has the digest. */
export const isIntact = (key: string, body: Uint8Array): boolean =>
  key.slice(key.lastIndexOf("/") + 1).split("-", 1)[0] === digestOf(body);
