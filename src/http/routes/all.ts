// Every route of the API, in the order in which they are matched: names before parts in braces.
import { openApi } from "../openapi.js";
import { type Route, route } from "../route.js";
import * as shapes from "../shapes.js";
import { answerRoutes } from "./answers.js";
import { batchRoutes } from "./batches.js";
import { bulkRoutes } from "./bulk.js";
import { creditRoutes } from "./credits.js";
import { erasureRoutes } from "./erasures.js";
import { fleetRoutes } from "./fleet.js";
import { homeRoutes } from "./home.js";
import { jobActionRoutes } from "./job-actions.js";
import { jobRoutes } from "./jobs.js";
import { limitRoutes } from "./limits.js";
import { outboxRoutes } from "./outbox.js";
import { scheduleRoutes } from "./schedules.js";
import { seriesRoutes } from "./series.js";
import { sessionRoutes } from "./session.js";
import { spendingRoutes } from "./spending.js";
import { troubleRoutes } from "./troubles.js";

const described: Route = route("GET", "/openapi.json", {
  summary: "This API, described as OpenAPI 3.1",
  role: "viewer",
  also: ["enqueue"],
  tenants: "own",
  answer: shapes.errorRecord,
  handle: async () => openApi(ROUTES),
});

export const ROUTES: readonly Route[] = [
  ...homeRoutes,
  ...sessionRoutes,
  ...jobRoutes,
  ...jobActionRoutes,
  ...answerRoutes,
  ...bulkRoutes,
  ...seriesRoutes,
  ...erasureRoutes,
  ...limitRoutes,
  ...fleetRoutes,
  ...batchRoutes,
  ...outboxRoutes,
  ...creditRoutes,
  ...spendingRoutes,
  ...troubleRoutes,
  ...scheduleRoutes,
  described,
];
