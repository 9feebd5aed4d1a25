// Lanes of which a claim may have stepped over jobs, because another transaction had them locked: should that one roll back, the jobs are
// ready again below the floor, and no news tell of it. A look that waits for no lock proves such a lane, and forgets it if it is empty.
import { compareIds } from "../../base/job-id.js";
import type { LanePart } from "./claim-statements.js";
import type { Lane } from "./lane.js";

/** Which part of a lane is to be looked at. */
export interface Doubt extends LanePart {
  readonly lane: Lane;
  readonly floor: string;
}

/** Above every id. */
const END = "9223372036854775807";

export class UnprovedLanes {
  readonly #withTurn = new Set<Lane>();
  /** Some of them may have their turn again. */
  readonly #left = new Set<Lane>();

  add(lane: Lane): void {
    (lane.hasLeft ? this.#left : this.#withTurn).add(lane);
  }

  delete(lane: Lane): void {
    this.#withTurn.delete(lane);
    this.#left.delete(lane);
  }

  clear(): void {
    this.#withTurn.clear();
    this.#left.clear();
  }

  /** Takes up to so many lanes, to be looked at. */
  take(lanesMax: number): Doubt[] {
    const doubts: Doubt[] = [];
    for (const lanes of [this.#left, this.#withTurn])
      for (const lane of lanes) {
        if (doubts.length >= lanesMax) return doubts;
        this.delete(lane);
        const { priority, tenant, low, floor } = lane;
        // One that has left is looked at to its end.
        const ceiling = lane.hasLeft || floor === low ? END : floor;
        doubts.push({ lane, priority, tenant, low, floor, ceiling });
      }
    return doubts;
  }

  /** One that has no turn. */
  firstThatLeft(): Lane | undefined {
    for (const lane of this.#left) {
      if (lane.hasLeft) return lane;
      this.#left.delete(lane);
      this.#withTurn.add(lane);
    }
    return undefined;
  }
}

/** The lane has a ready job at this position, or none in the part that was looked at. Something may have lowered its floor meanwhile. */
export function prove({ lane, low, floor, ceiling }: Doubt, first: string | undefined): void {
  const isAsItWas = lane.low === low && lane.floor === floor;
  if (first !== undefined) {
    const below = String(BigInt(first) - 1n);
    if (isAsItWas) lane.low = below;
    if (isAsItWas || compareIds(below, lane.floor) < 0) lane.floor = below;
  } else if (isAsItWas && ceiling !== END) lane.low = floor;
}
