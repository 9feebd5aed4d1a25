// The shapes of this API's answers, as the OpenAPI document and the tests know them.
export * from "./shapes/common.js";
export * from "./shapes/effects.js";
export * from "./shapes/fleet.js";
export * from "./shapes/home.js";
export * from "./shapes/jobs.js";
export * from "./shapes/limits.js";
export * from "./shapes/operations.js";
