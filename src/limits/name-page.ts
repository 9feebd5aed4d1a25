// A page of a list by name: tenants, queues, kinds, schedules.
import { limitOf } from "../base/page.js";
import { nameOf, refuseUnknown } from "../base/settings.js";
import { NAMES_MAX, type NamePage } from "./overview-statements.js";

/** Without `after`, from the beginning. */
export function checkNamePage(page: NamePage, where: string): Required<NamePage> {
  refuseUnknown(page, ["after", "limit"], where);
  const { after, limit } = page;
  return { after: after === undefined ? "" : nameOf(after, "after"), limit: limitOf(limit, NAMES_MAX) };
}
