// Erasing a tenant on demand, and the records of it.
import { act } from "../acting.js";
import { mapPage, pageOf } from "../page.js";
import { notFound, requestInvalid } from "../problem.js";
import { checkErase, type Erasure, readErasure, readErasures, startErasure } from "../rooms.js";
import { limitIn, paging, type Route, route } from "../route.js";
import { boundedText, object, optional } from "../schema.js";
import * as shapes from "../shapes.js";
import { checkedId } from "./jobs.js";

const toErasure = ({ filePrefix: _, ...erasure }: Erasure) => erasure;

export const erasureRoutes: readonly Route[] = [
  route("POST", "/tenants/{name}/erase", {
    summary: "Erase what is kept of a tenant; cannot be taken back. Goes on in the background",
    role: "admin",
    tenants: "refused",
    // What cannot be taken back is said twice.
    body: object({ confirm: boundedText(1, 200), reason: optional(boundedText(1, 500)) }),
    answer: shapes.erasure,
    status: 202,
    handle: async (call) => {
      const { name = "" } = call.params;
      const { confirm, reason } = call.body;
      if (confirm !== name) throw requestInvalid([{ path: "confirm", message: "is not the name of the tenant" }]);
      const wanted = checkErase(name, { actor: call.caller.actor, ...(reason !== undefined && { reason }) });
      const start = () => startErasure(call.http.db, wanted);
      // Its record has no name either, once it is done.
      const id = await act(call, "tenant.erase", `tenant ${name}`, start);
      call.http.driveErasure(id);
      return toErasure((await readErasure(call.http.view, id))!);
    },
  }),
  route("GET", "/erasures", {
    summary: "A page of records of erased tenants, newest first",
    role: "admin",
    tenants: "refused",
    query: object(paging),
    answer: shapes.pageOf(shapes.erasure),
    handle: async (call) => {
      const { cursor } = call.query;
      const before = cursor === undefined ? undefined : checkedId(cursor, "cursor");
      const read = (limit: number) => readErasures(call.http.lists, { before, limit });
      return mapPage(await pageOf(limitIn(call.query), read, ({ id }) => id), toErasure);
    },
  }),
  route("GET", "/erasures/{id}", {
    summary: "The record of an erased tenant; lets one that was left go on",
    role: "admin",
    tenants: "refused",
    answer: shapes.erasure,
    handle: async (call) => {
      const erasure = await readErasure(call.http.view, checkedId(call.params["id"] ?? "", "id"));
      if (erasure === undefined) throw notFound("such erasure");
      if (erasure.state === "running") call.http.driveErasure(erasure.id);
      return toErasure(erasure);
    },
  }),
];
