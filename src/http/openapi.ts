// The OpenAPI document, made of the routes: what they take and answer is what they check.
import { VERSION } from "../base/version.js";
import type { Route } from "./route.js";
import { type JsonSchema, NAMED } from "./schema.js";
import * as shapes from "./shapes.js";

const json = (schema: JsonSchema) => ({ "application/json": { schema } });
const REFUSALS: Readonly<Record<string, string>> = {
  400: "The request is not valid",
  401: "Sign in",
  403: "Not allowed",
  404: "Not found, or another tenant's",
  429: "Too many",
  503: "The database does not answer, or took too long",
};

function parametersOf({ path, query }: Route) {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const { properties = {}, required = [] } = query.json as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  const inQuery = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema,
  }));
  return [...inPath, ...inQuery];
}

export const operationId = ({ method, path }: Pick<Route, "method" | "path">): string =>
  `${method.toLowerCase()}${path.replaceAll(/[{}.]/g, "").replaceAll(/\/(\w)/g, (_, letter: string) => letter.toUpperCase())}`;

function operationOf(route: Route) {
  const { method, path, summary, role, also, tenants, body, answer, status } = route;
  const isStream = path === "/events";
  const success = isStream
    ? { description: "A stream", content: { "text/event-stream": { schema: { type: "string" } } } }
    : answer === undefined
      ? { description: "Done" }
      : { description: "The answer", content: json(answer.json) };
  const refusals = Object.entries(REFUSALS).map(([code, description]) => [
    code,
    { description, content: { "application/problem+json": { schema: shapes.problem.json } } },
  ]);
  return {
    operationId: operationId(route),
    summary,
    tags: [path.split("/")[1]],
    "x-fairmill-role": role,
    "x-fairmill-also": also,
    "x-fairmill-tenants": tenants,
    ...(role === "anyone" && { security: [] }),
    parameters: parametersOf(route),
    ...(body !== undefined && { requestBody: { content: json(body.json) } }),
    responses: { [String(status)]: success, ...Object.fromEntries(refusals) },
    ...(method === "GET" && { "x-fairmill-etag": !isStream }),
  };
}

export function openApi(routes: readonly Route[]) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    paths[route.path]![route.method.toLowerCase()] = operationOf(route);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Fairmill", version: VERSION, description: "Jobs, tenants, limits, workers: reading and acting." },
    servers: [{ url: "/api/v1" }],
    security: [{ bearer: [] }, { basic: [] }, { session: [] }],
    paths,
    components: {
      schemas: Object.fromEntries(NAMED),
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        basic: { type: "http", scheme: "basic" },
        session: { type: "apiKey", in: "cookie", name: "fairmill_session" },
      },
    },
  };
}
