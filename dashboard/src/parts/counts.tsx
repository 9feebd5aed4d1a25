import type { Count } from "../data/contract";
import { compact, count, NOTHING } from "../format/numbers";

/** A count that says when it is a lower bound. */
export const CountOf = ({ of, short }: { of: Count | null | undefined; short?: boolean }) =>
  of ? (
    <span title={of.more ? `at least ${count(of.count)}` : undefined}>
      {short ? compact(of.count) : count(of.count)}
      {of.more && "+"}
    </span>
  ) : (
    <span>{NOTHING}</span>
  );
