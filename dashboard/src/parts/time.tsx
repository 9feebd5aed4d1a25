// Times that move. The exact one is in the title.
import { now } from "../data/clock";
import { ago, duration, full, readable, timeOf } from "../format/times";

export const Ago = ({ at }: { at: string | null | undefined }) => (
  <time class="nowrap" dateTime={at ?? undefined} title={full(at)}>
    {ago(at, now.value)}
  </time>
);

export const Since = ({ at, until }: { at: string | null | undefined; until?: string | null | undefined }) => (
  <time class="nowrap" dateTime={at ?? undefined} title={full(at)}>
    {/* The clocks of two machines: what has just begun may seem to begin in a moment. */}
    {duration(Math.max(0, (until ? timeOf(until) : now.value) - timeOf(at)))}
  </time>
);

/** A sentence of the server, with its times by the clocks of the reader. */
export const Sentence = ({ text }: { text: string }) => <>{readable(text, now.value)}</>;
