// What an application needs of the HTTP API: `fairmill/http`.

export { type AnswerToken, type AnswerTokenOptions, createAnswerToken } from "../jobs/answer-token.js";
export { createJobToken, type JobToken, type JobTokenOptions } from "../jobs/job-token.js";
export type { JobLink, LinkedJob } from "./backend.js";
export { createHttpHandler, type HttpHandler, type HttpOptions, type Visitor } from "./create-handler.js";
export type { Credential, Role } from "./credentials.js";
export { HttpProblem } from "./problem.js";
export type {
  AlertReader,
  LogReader,
  MetricsReader,
  ProviderReader,
  Readers,
  ScalingReader,
  Scope,
  SeriesBy,
  Span,
} from "./readers.js";
export type { Issue } from "./schema.js";
