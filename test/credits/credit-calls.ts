// Jobs that hold credits, as the tests enqueue them, and the refusal of those that cannot pay.
export const EXHAUSTED = "FAIRMILL_CREDITS_EXHAUSTED";

export const paid = (account = "ann", amount = 3, more: object = {}) => ({ account, amount, ...more });

export const codesOf = (answers: readonly { refused: { readonly [fact: string]: unknown } | null }[]) =>
  answers.map(({ refused }) => refused?.["code"] ?? null);
