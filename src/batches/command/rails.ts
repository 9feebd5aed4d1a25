// Draws a graph from top to bottom: a line a node, and on its left the rails along which one node leads to those behind it.
//
//   ●          a node
//   ├─┬─╮      leads to three
//   ● │ │
//   │ ● │
//   │ │ ●
//   ├─┴─╯      which lead to one
//   ●

export interface Stop {
  /** Indexes of the nodes before it, in the list: all of them lower than its own. */
  readonly after: readonly number[];
}

/** A line of the picture: what stands on the rails, and which node is on it, if any. */
export interface RailLine {
  /** One text a rail; two columns apart, joined by `between`. */
  readonly text: string;
  readonly node: number | undefined;
  /** The rails below this line, for whatever is written under the node. */
  readonly below: string;
}

const UP = 1;
const DOWN = 2;
const LEFT = 4;
const RIGHT = 8;
/** By the directions in which a line leaves the cell. */
const STROKES: Readonly<Record<number, string>> = {
  [UP | DOWN]: "│",
  [LEFT | RIGHT]: "─",
  [UP | DOWN | RIGHT]: "├",
  [UP | DOWN | LEFT]: "┤",
  [UP | DOWN | LEFT | RIGHT]: "┼",
  [UP | LEFT]: "╯",
  [UP | RIGHT]: "╰",
  [UP | LEFT | RIGHT]: "┴",
  [DOWN | LEFT]: "╮",
  [DOWN | RIGHT]: "╭",
  [DOWN | LEFT | RIGHT]: "┬",
};

/** Marks a node's own cell in a line; replaced when the line is written. */
export const HERE = "\u0000";

/** How far each node is from the start: one more than the farthest of those before it. */
export function levelsOf(stops: readonly Stop[]): number[] {
  const levels: number[] = [];
  for (const { after } of stops) levels.push(after.reduce((level, before) => Math.max(level, levels[before]! + 1), 0));
  return levels;
}

export function railsOf(stops: readonly Stop[]): { readonly lines: RailLine[]; readonly width: number } {
  return new Rails(stops).draw();
}

class Rails {
  readonly #stops: readonly Stop[];
  /** Per rail the node whose line runs along it, or that is about to be written there. */
  readonly #rails: (number | undefined)[] = [];
  /** Nodes behind each that are not connected yet. */
  readonly #left: number[];
  /** Whether the last line has a node in this rail: a line below it would touch it. */
  #touching = new Set<number>();
  readonly #lines: RailLine[] = [];

  constructor(stops: readonly Stop[]) {
    this.#stops = stops;
    this.#left = stops.map(() => 0);
    for (const { after } of stops) for (const before of after) this.#left[before]!++;
  }

  draw(): { lines: RailLine[]; width: number } {
    for (const group of this.#groups()) {
      const rails = this.#connect(group);
      for (const [n, node] of group.entries()) this.#write(node, rails[n]!);
    }
    return { lines: this.#lines, width: Math.max(0, this.#rails.length * 2 - 1) };
  }

  /** Level by level, those together that wait for the same nodes. */
  #groups(): number[][] {
    const levels = levelsOf(this.#stops);
    const groups = new Map<string, number[]>();
    for (const [node, { after }] of this.#stops.entries()) {
      // A node without dependencies shares no rail with others.
      const key = after.length === 0 ? `0 ${node}` : `${levels[node]} ${after.join()}`;
      const group = groups.get(key);
      if (group) group.push(node);
      else groups.set(key, [node]);
    }
    return [...groups.values()].toSorted((a, b) => levels[a[0]!]! - levels[b[0]!]! || a[0]! - b[0]!);
  }

  /** Leads the rails of the nodes before a group to the cells of the group. Returns those. */
  #connect(group: readonly number[]): number[] {
    const { after } = this.#stops[group[0]!]!;
    for (const before of after) this.#left[before]! -= group.length;
    const from = after.map((before) => this.#rails.indexOf(before)).toSorted((a, b) => a - b);
    const ending = from.filter((rail) => this.#left[this.#rails[rail]!] === 0);
    const to = [...ending.slice(0, group.length)];
    for (let rail = 0; to.length < group.length; rail++)
      if (this.#rails[rail] === undefined && !to.includes(rail)) to.push(rail);
    to.sort((a, b) => a - b);
    for (const rail of ending) this.#rails[rail] = undefined;
    const isStraight = from.length === 1 && to.length === 1 && from[0] === to[0];
    // Where the rail is seen above the node, one more line would say nothing.
    if (from.length > 0 && !(isStraight && !this.#touching.has(to[0]!))) this.#lineBetween(from, to);
    for (const [n, node] of group.entries()) this.#rails[to[n]!] = node;
    return to;
  }

  #lineBetween(from: readonly number[], to: readonly number[]): void {
    const first = Math.min(...from, ...to);
    const last = Math.max(...from, ...to);
    const cells: string[] = [];
    for (let rail = 0; rail < Math.max(this.#rails.length, last + 1); rail++) {
      const isFrom = from.includes(rail);
      const goesOn = to.includes(rail) || (isFrom && this.#rails[rail] !== undefined);
      const isPart = isFrom || to.includes(rail);
      const inside = rail > first && rail < last;
      const ways =
        (isFrom ? UP : 0) |
        (goesOn ? DOWN : 0) |
        (isPart && rail > first ? LEFT : 0) |
        (isPart && rail < last ? RIGHT : 0);
      const other = this.#rails[rail] === undefined ? (inside ? "─" : " ") : "│";
      cells.push(isPart ? (STROKES[ways] ?? "│") : other, rail >= first && rail < last ? "─" : " ");
    }
    this.#lines.push({ text: cells.join("").trimEnd(), node: undefined, below: "" });
    this.#touching = new Set();
  }

  #write(node: number, rail: number): void {
    const cells = this.#rails.map((on, n) => (n === rail ? HERE : on === undefined ? " " : "│"));
    if (this.#left[node] === 0) this.#rails[rail] = undefined;
    const below = this.#rails.map((on) => (on === undefined ? " " : "│")).join(" ");
    this.#lines.push({ text: cells.join(" ").trimEnd(), node, below });
    this.#touching = new Set([rail]);
  }
}
