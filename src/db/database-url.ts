// Whether a text can be the address of a PostgreSQL: the driver takes any, and then looks for a host that nothing in the text names.
import { ConfigError } from "../base/errors.js";

/** The text is never repeated in a message: it may hold a password. `setting` is where it came from. */
export function checkDatabaseUrl(url: unknown, setting: string): string {
  if (typeof url === "string" && isDatabaseUrl(url)) return url;
  throw new ConfigError(
    setting,
    `${setting}: this is not a PostgreSQL URL. Write postgres://user:password@host:5432/database, special characters as %xx.`,
  );
}

/** A path, or `socket:` and a path, is a socket of this machine. */
const isDatabaseUrl = (url: string): boolean =>
  /^(?:\/|socket:\/)/.test(url) || (/^postgres(?:ql)?:\/\//.test(url) && URL.canParse(url));
