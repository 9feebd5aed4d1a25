// Who may come in: named credentials with a role, narrowed to a tenant where they say so. Secrets are kept as digests and compared in constant time.
import { createHash, timingSafeEqual } from "node:crypto";
import { ConfigError } from "../base/errors.js";
import { nameOf, oneOf, refuseUnknown } from "../base/settings.js";

export const ROLES = ["enqueue", "viewer", "operator", "admin"] as const;
export type Role = (typeof ROLES)[number];

export interface Credential {
  readonly name: string;
  /** At least 16 characters, or "sha256:" and the 64 hexadecimal digits of its digest. */
  readonly secret: string;
  readonly role: Role;
  /** The only tenant whose things it may see and touch; left out: all. */
  readonly tenant?: string;
}

/** A credential as it is kept. */
export interface StoredCredential {
  readonly name: string;
  readonly digest: Buffer;
  readonly role: Role;
  readonly tenant: string | undefined;
}

const SECRET_CHARACTERS_MIN = 16;
const CREDENTIALS_MAX = 1_000;

export const digestOf = (secret: string): Buffer => createHash("sha256").update(secret).digest();

export function checkCredentials(given: unknown, where: string): StoredCredential[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > CREDENTIALS_MAX)
    throw new ConfigError("auth", `${where}: auth: pass a list of 1 to ${CREDENTIALS_MAX} credentials.`);
  const stored = given.map((one: Credential) => {
    refuseUnknown(one, ["name", "secret", "role", "tenant"], `${where}.auth`);
    const name = nameOf(one.name, "auth.name");
    if (/[:\s,]/.test(name)) throw new ConfigError("auth.name", `auth.name: ${name}: without ":", "," and blanks.`);
    const role = oneOf(one.role, ROLES, "auth.role");
    const tenant = one.tenant === undefined ? undefined : nameOf(one.tenant, "auth.tenant");
    if (role === "enqueue" && tenant === undefined)
      throw new ConfigError("auth.tenant", `auth: "${name}" may enqueue: say for which tenant.`);
    return { name, role, tenant, digest: digestFrom(one.secret, name) };
  });
  const names = new Set(stored.map(({ name }) => name));
  if (names.size < stored.length) throw new ConfigError("auth.name", `${where}: auth: two credentials have one name.`);
  return stored;
}

/** The secret is never repeated in a message. */
function digestFrom(secret: unknown, name: string): Buffer {
  const [, hex] = /^sha256:([0-9a-f]{64})$/i.exec(typeof secret === "string" ? secret : "") ?? [];
  if (hex !== undefined) return Buffer.from(hex, "hex");
  if (typeof secret !== "string" || secret.length < SECRET_CHARACTERS_MIN || secret.startsWith("sha256:"))
    throw new ConfigError(
      "auth.secret",
      `auth: the secret of "${name}" must have at least ${SECRET_CHARACTERS_MIN} characters, or be sha256:<64 hexadecimal digits>.`,
    );
  return digestOf(secret);
}

/** `name:role:secret` or `name:role@tenant:secret`, separated by commas or white space. */
export function parseCredentials(text: string, where = "FAIRMILL_DASHBOARD_AUTH"): Credential[] {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== "");
  return entries.map((entry, n) => {
    const [, name, role, tenant, secret] = /^([^:]+):([a-z]+)(?:@([^:]+))?:(.+)$/.exec(entry) ?? [];
    if (name === undefined || secret === undefined)
      throw new ConfigError(
        "auth",
        `${where}: entry ${n + 1} is not name:role:secret, or name:role@tenant:secret. Roles: ${ROLES.join(", ")}.`,
      );
    const decoded = tenant === undefined ? undefined : decode(tenant, where);
    return { name, role: role as Role, secret, ...(decoded !== undefined && { tenant: decoded }) };
  });
}

function decode(text: string, where: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ConfigError("auth", `${where}: a tenant is written with %xx for special characters.`);
  }
}

/** Looks at every credential, whatever fits: how long it takes says nothing. */
export function findCredential(
  all: readonly StoredCredential[],
  name: string | undefined,
  secret: string,
): StoredCredential | undefined {
  const digest = digestOf(secret);
  let found: StoredCredential | undefined;
  for (const one of all) {
    const fits = timingSafeEqual(one.digest, digest);
    if (fits && (name === undefined || one.name === name)) found = one;
  }
  return found;
}
