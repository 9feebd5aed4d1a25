// What a handler asked for, on its way over the border: a kind of effect has a function, so each list is written as the settle takes it where the
// handler ran.
import type { Effects } from "../../core/job/effects.js";

export interface SentEffects {
  /** By the member of the settle's effects, its list as JSON. */
  readonly lists: readonly { readonly member: string; readonly json: string }[];
  /** Bytes of the payloads. */
  readonly bytes: number;
}

export const sendEffects = (effects: Effects | undefined): SentEffects | undefined =>
  effects && {
    lists: effects.lists.map((list) => ({ member: list.kind.member, json: list.kind.text(list.effects) })),
    bytes: effects.bytes,
  };

export const receiveEffects = (sent: SentEffects | undefined): Effects | undefined =>
  sent && {
    lists: sent.lists.map(({ member, json }) => ({ kind: { member, text: () => json }, effects: [] })),
    bytes: sent.bytes,
  };
