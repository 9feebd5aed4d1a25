// Middlewares are named and stand in a list: what makes one, and what makes a list of them.
import { ConfigError, FairmillError } from "../../base/errors.js";
import { nameOf, readable, refuseUnknown } from "../../base/settings.js";
import { showValue } from "../../base/show-value.js";

declare const ADDS: unique symbol;

/** Carries, for the compiler alone, what a middleware adds to the context of handlers. */
export interface Adds<out Added> {
  readonly [ADDS]?: Added;
}

/** What every middleware has: a name, and a part at enqueue, at run, or at both. */
export interface NamedMiddleware extends Adds<unknown> {
  readonly name: string;
  readonly enqueue?: unknown;
  readonly run?: unknown;
}

type AddedByOne<Member> = Member extends Adds<infer Added> ? Added : unknown;

/** What all of them together add to the context: of a list whose members the compiler knows. */
export type AddedBy<Use> = Use extends readonly [infer First, ...infer Rest]
  ? AddedByOne<First> & AddedBy<Rest>
  : unknown;

/** A middleware broke a rule of the chain: the fault lies in its code, so the job ends. */
export class MiddlewareError extends FairmillError {
  override readonly name = "MiddlewareError";
  readonly retryable = false;
  /** Which one. */
  readonly middleware: string;
  constructor(middleware: string, what: string) {
    super("FAIRMILL_MIDDLEWARE", `Middleware "${middleware}" ${what}.`);
    this.middleware = middleware;
  }
}

/** The setting `use`, checked: a list, whose first member is the outermost. Undefined: none. */
export function checkMiddlewares<Member extends NamedMiddleware>(
  use: readonly Member[] | undefined,
): readonly Member[] | undefined {
  if (use === undefined) return undefined;
  const members = readable("use", "use", () => {
    if (!Array.isArray(use)) throw new ConfigError("use", `use: ${showValue(use)} is no list of middlewares.`);
    return (use as readonly Member[]).map((member, i) => checked(member, `use[${i}]`));
  });
  const names = members.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw new ConfigError("use", `use: two middlewares have the name "${twice}". Rename one, or remove the first.`);
  return members;
}

function checked<Member extends NamedMiddleware>(member: Member, where: string): Member {
  if (typeof member !== "object" || member === null)
    throw new ConfigError(
      "use",
      `${where}: ${showValue(member)} is no middleware, like { name: "timing", run(ctx, next) { … } }.`,
    );
  refuseUnknown(member, ["name", "enqueue", "run"], where);
  nameOf(member.name, `${where}.name`);
  for (const part of ["enqueue", "run"] as const)
    if (member[part] !== undefined && typeof member[part] !== "function")
      throw new ConfigError("use", `${where} ("${member.name}"): ${part} must be a function.`);
  if (member.enqueue === undefined && member.run === undefined)
    throw new ConfigError("use", `${where} ("${member.name}"): has neither enqueue nor run, and would do nothing.`);
  return member;
}
