// A lane as the ring remembers it, and the closed limit under which it may be parked.

import type { Heap, Placed } from "../../base/heap.js";
import type { WaitingLane } from "./claim-statements.js";
import type { ClosedLimit } from "./closed-limit.js";

export interface Lane extends Placed, WaitingLane {
  weight: number;
  /** Only ids above this one are asked for. */
  floor: string;
  /** Up to here nothing is ready, by a look that no lock could mislead; above it claims may have stepped over jobs that were locked. */
  low: string;
  /** In which round of its level the next job is due; a job costs 1/weight of a round. */
  round: number;
  /** Between lanes of one round: the one that came, or was served, earlier goes first. */
  order: number;
  /** Where it is parked; without one it has its turn. */
  parkedAt: ParkedLanes | undefined;
  /** It gave less than it was asked for: it has no turn, and is forgotten when a look has found nothing ready in it. */
  hasLeft: boolean;
  /** The last claim asked for less than its turn would have been, because its tenant had enough. */
  isCut: boolean;
}

/** A closed limit, with the lanes that it holds back. */
export interface ParkedLanes extends Placed {
  readonly key: string;
  readonly scope: ClosedLimit["scope"];
  untilMs: number;
  isFreeable: boolean;
  /** Lanes to let out at the next try. */
  tries: number;
  readonly lanes: Heap<Lane>;
}

export const isSooner = (a: Lane, b: Lane): boolean => a.round < b.round || (a.round === b.round && a.order < b.order);
