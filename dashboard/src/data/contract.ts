// What the JSON API answers, as the server documents it (docs/reference/http.md). Everything that a user wrote is text and is shown as text.

export type * from "./contract/alerts";
export type * from "./contract/bulk";
export type * from "./contract/common";
export type * from "./contract/effects";
export type * from "./contract/fleet";
export type * from "./contract/flows";
export type * from "./contract/home";
export type * from "./contract/jobs";
export type * from "./contract/limits";
export type * from "./contract/operations";
export type * from "./contract/series";
