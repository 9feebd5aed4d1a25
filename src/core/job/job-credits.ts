// What a job costs: units that it reserves of an account from its enqueue to its end.
import { ConfigError } from "../../base/errors.js";
import { nameOf, refuseUnknown, wholeNumber } from "../../base/settings.js";
import { showValue } from "../../base/show-value.js";

export interface JobCredits<Input> {
  /** Whose credits: captured when the job is done, given back on every other end. */
  readonly account: (input: Input) => string;
  /** Whole units, 1 or more; default 1. */
  readonly amount?: number | ((input: Input) => number);
}

/** What one job reserves. */
export interface Hold {
  readonly account: string;
  readonly amount: number;
}

export const AMOUNT_MAX = 1_000_000_000_000;

export function checkJobCredits<Input>(credits: JobCredits<Input> | undefined, where: string): typeof credits {
  if (credits === undefined) return undefined;
  if (typeof credits !== "object" || credits === null)
    throw new ConfigError("credits", `${where}: credits must be an object, like { account: (input) => input.userId }.`);
  refuseUnknown(credits, ["account", "amount"], `${where}.credits`);
  if (typeof credits.account !== "function")
    throw new ConfigError("credits.account", `${where}: credits.account must be a function of the input.`);
  if (typeof credits.amount !== "function" && credits.amount !== undefined)
    checkAmount(credits.amount, "credits.amount");
  return Object.freeze({ ...credits });
}

export function priceOf<Input>(credits: JobCredits<Input>, input: Input): Hold {
  const amount = typeof credits.amount === "function" ? credits.amount(input) : (credits.amount ?? 1);
  return { account: nameOf(credits.account(input), "credits.account"), amount: checkAmount(amount, "credits.amount") };
}

export const checkAmount = (amount: unknown, setting: string): number => wholeNumber(amount, 1, AMOUNT_MAX, setting);

/** An account's name, as callers give it. */
export const checkAccount = (account: unknown): string => nameOf(account, "account");

/** Why a grant happened, for the statement. */
export function checkReason(reason: unknown): string {
  if (
    typeof reason === "string" &&
    reason.length >= 1 &&
    reason.length <= 500 &&
    !reason.includes("\0") &&
    reason.isWellFormed()
  )
    return reason;
  throw new ConfigError("reason", `reason: ${showValue(reason)} is not a text of 1 to 500 characters.`);
}
