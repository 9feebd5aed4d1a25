// Pages of lists, checked like settings: a member that is undefined was not asked for, and anything else must be what its name says. Without
// that, a tenant that is null by mistake would list every tenant's rows.
import { nameOf, wholeNumber } from "./settings.js";

const ROWS = 50;

export const limitOf = (limit: unknown, max: number): number =>
  limit === undefined ? ROWS : wholeNumber(limit, 1, max, "limit");

export const checkName = (setting: string) => (name: string) => nameOf(name, setting);
