// The routes as a table of Markdown, for the reference page.
import type { Route } from "./route.js";
import { ROUTES } from "./routes/all.js";
import type { JsonSchema } from "./schema.js";

const membersOf = (schema: JsonSchema | undefined): string => {
  const { properties = {}, required = [] } = (schema ?? {}) as { properties?: object; required?: readonly string[] };
  const names = Object.keys(properties).map((name) => `\`${name}\`${required.includes(name) ? "" : "?"}`);
  return names.join(", ");
};

const roleOf = ({ role, also }: Route): string =>
  [role === "answer" ? "answer token" : role, ...also.map((one) => (one === "job" ? "job token" : one))].join(", ");

export const rowOf = (route: Route): string => {
  const { method, path, tenants, query, body, summary } = route;
  const takes = [membersOf(query.json), membersOf(body?.json)].filter((text) => text !== "").join("; body: ");
  const isBodyAlone = membersOf(query.json) === "" && body !== undefined && membersOf(body.json) !== "";
  const tenant = route.role === "anyone" ? "" : tenants === "own" ? "own" : "refused";
  return `| \`${method} ${path}\` | ${roleOf(route)} | ${tenant} | ${isBodyAlone ? "body: " : ""}${takes} | ${summary} |`;
};

export const routesTable = (): string =>
  ["| route | role | one tenant | takes | what it does |", "|---|---|---|---|---|", ...ROUTES.map(rowOf)].join("\n");
