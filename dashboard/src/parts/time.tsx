// Times that move. The exact one is in the title.
import { now } from "../data/clock";
import { ago, duration, full, timeOf } from "../format/times";

export const Ago = ({ at }: { at: string | null | undefined }) => (
  <time class="nowrap" dateTime={at ?? undefined} title={full(at)}>
    {ago(at, now.value)}
  </time>
);

export const Since = ({ at, until }: { at: string | null | undefined; until?: string | null | undefined }) => (
  <time class="nowrap" dateTime={at ?? undefined} title={full(at)}>
    {duration((until ? timeOf(until) : now.value) - timeOf(at))}
  </time>
);
