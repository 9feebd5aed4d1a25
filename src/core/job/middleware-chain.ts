// Middlewares are named and stand in a line: this is the line. It never changes; adding and removing make another one.
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

/** What all of them together add to the context: of a list whose members the compiler knows, or of a chain. */
export type AddedBy<Use> =
  Use extends Chain<infer _, infer Added>
    ? Added
    : Use extends readonly [infer First, ...infer Rest]
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

/** Middlewares in their order: the first is the outermost. */
export class Chain<Member extends NamedMiddleware = NamedMiddleware, Added = unknown> implements Iterable<Member> {
  declare readonly [ADDS]?: Added;
  readonly #members: readonly Member[];

  constructor(members: Iterable<Member>) {
    this.#members = readable("use", "use", () => {
      if (typeof members?.[Symbol.iterator] !== "function")
        throw new ConfigError("use", `use: ${showValue(members)} is no list of middlewares.`);
      return [...members].map((member, i) => checked(member, `use[${i}]`));
    });
    const names = this.names;
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    if (twice !== undefined)
      throw new ConfigError("use", `use: two middlewares have the name "${twice}". Rename one, or remove the first.`);
  }

  get names(): readonly string[] {
    return this.#members.map(({ name }) => name);
  }

  [Symbol.iterator](): Iterator<Member> {
    return this.#members[Symbol.iterator]();
  }

  /** Behind all others: next to the handler. */
  add<One extends Member>(member: One): Chain<Member, Added & AddedByOne<One>> {
    return new Chain([...this.#members, member]);
  }

  /** In front of the one with this name. */
  before<One extends Member>(name: string, member: One): Chain<Member, Added & AddedByOne<One>> {
    return new Chain(this.#members.toSpliced(this.#indexOf(name), 0, member));
  }

  /** Behind the one with this name. */
  after<One extends Member>(name: string, member: One): Chain<Member, Added & AddedByOne<One>> {
    return new Chain(this.#members.toSpliced(this.#indexOf(name) + 1, 0, member));
  }

  /** Without the one with this name. The compiler does not know what it added, so it is sure of nothing that was added before. */
  remove(name: string): Chain<Member, Partial<Added>> {
    return new Chain(this.#members.toSpliced(this.#indexOf(name), 1));
  }

  #indexOf(name: string): number {
    const index = this.#members.findIndex((member) => member.name === name);
    if (index >= 0) return index;
    const known = this.names.map((one) => `"${one}"`).join(", ");
    throw new ConfigError("use", `use: no middleware has the name ${showValue(name)}. There are: ${known || "none"}.`);
  }
}

/** The setting `use`: a list, or a chain that is made already. */
export function chainOf<Member extends NamedMiddleware>(use: Iterable<Member> | undefined): Chain<Member> | undefined {
  if (use === undefined) return undefined;
  return readable("use", "use", () => {
    if (use instanceof Chain) return use as Chain<Member>;
    if (!Array.isArray(use)) throw new ConfigError("use", "use: must be a list of middlewares, or a chain of them.");
    return new Chain<Member>(use as readonly Member[]);
  });
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
