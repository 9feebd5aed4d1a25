// What many answers have: counts, notices, pages, states, roles, problems.
import { LIMIT_SCOPES } from "../../core/claim/closed-limit.js";
import { JOB_STATES } from "../../core/job/states.js";
import { boolean, list, named, nullable, number, object, oneOf, type Schema, text } from "../schema.js";

export const maybe = nullable;
export const textShape = text;
export const count = named("Count", object({ count: number, more: boolean }));
export const notice = named("Notice", object({ code: oneOf("STATEMENT_LIMIT", "LOOKED_AT_PART"), message: text }));
export const pageOf = <T>(item: Schema<T>) => object({ items: list(item), next: maybe(text), notice: maybe(notice) });
export const itemsOf = <T>(item: Schema<T>) => object({ items: list(item) });
export const jobState = oneOf(...JOB_STATES);
export const limitScope = oneOf(...LIMIT_SCOPES);
export const role = oneOf("enqueue", "viewer", "operator", "admin", "job", "answer");
