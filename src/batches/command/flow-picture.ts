// A flow as a picture of text: its nodes from top to bottom, what each waits for, what it came to; flows inside a node below it. A flow that
// is too large to be drawn node by node is drawn with like nodes as one, or level by level.

import { fitTo, oneLine, widthOf } from "../../cli/text.js";
import type { BatchState } from "../batch.js";
import { HERE, levelsOf, railsOf } from "./rails.js";

/** What the picture needs to know of a node. */
export interface PicturedNode {
  readonly id: string;
  readonly parent: string | null;
  readonly name: string;
  readonly state: BatchState;
  readonly done: number;
  readonly dead: number;
  readonly cancelled: number;
  readonly live: number;
  readonly when: "succeeded" | "settled" | "failed";
  readonly onFailure: "fail" | "skip" | "continue";
  readonly after: readonly string[];
}

export interface PictureOptions {
  readonly columns: number;
  /** Colours a piece of text that shows this state. */
  readonly paint?: (state: BatchState, text: string) => string;
}

export const MARKS: Readonly<Record<BatchState, string>> = {
  waiting: "·",
  pending: "●",
  succeeded: "✓",
  failed: "✗",
  cancelled: "⊘",
  skipped: "○",
};

/** More nodes than this that wait for the same and that the same wait for are one line. */
const ALIKE_MAX = 6;
/** More lines than this, or more rails, and it is drawn level by level. */
const LINES_MAX = 120;
const RAILS_MAX = 16;
const DEPTH_MAX = 4;
const NAME_WIDTH_MAX = 36;
/** Names of nodes before a join that are written beside it. */
const NAMES_MAX = 4;

/** One line of the picture: a node, or many that are drawn as one. */
interface Stop {
  readonly nodes: readonly PicturedNode[];
  readonly after: readonly number[];
  readonly name: string;
}

export function flowPicture(flow: string, nodes: readonly PicturedNode[], options: PictureOptions): string {
  const inside = new Map<string, PicturedNode[]>();
  for (const node of nodes) {
    const list = inside.get(node.parent ?? flow);
    if (list) list.push(node);
    else inside.set(node.parent ?? flow, [node]);
  }
  const painter = new Painter(inside, options.paint ?? ((_, text) => text));
  const lines = painter.draw(inside.get(flow) ?? [], options.columns, 0);
  // Flows that jobs of this one started inside it: they belong to no node of the plan.
  const known = new Set(nodes.map(({ id }) => id));
  for (const [parent, list] of inside)
    if (parent !== flow && !known.has(parent))
      lines.push("", `Started by a job, flow ${parent}:`, ...painter.draw(list, options.columns, 1));
  return lines.join("\n");
}

class Painter {
  readonly #inside: ReadonlyMap<string, readonly PicturedNode[]>;
  readonly #paint: (state: BatchState, text: string) => string;

  constructor(
    inside: ReadonlyMap<string, readonly PicturedNode[]>,
    paint: (state: BatchState, text: string) => string,
  ) {
    this.#inside = inside;
    this.#paint = paint;
  }

  draw(nodes: readonly PicturedNode[], columns: number, depth: number): string[] {
    const each = nodes.map((node): Stop => ({ nodes: [node], after: [], name: node.name }));
    const stops = this.#fitting(connected(each));
    const { lines, width } = railsOf(stops);
    const nameWidth = Math.min(NAME_WIDTH_MAX, Math.max(0, ...stops.map(({ name }) => widthOf(oneLine(name)))));
    return lines.flatMap(({ text, node, below }) => {
      if (node === undefined) return [text];
      const stop = stops[node]!;
      const state = stateOf(stop);
      const rails = fitTo(text, width).replace(HERE, this.#paint(state, MARKS[state]));
      const words = this.#words(stop, stops, nameWidth, columns - width - 2);
      return [`${rails}  ${words}`.trimEnd(), ...this.#insideOf(stop, fitTo(below, width), columns - width - 4, depth)];
    });
  }

  /** As they are, like nodes as one, or level by level: the first that can be read. */
  #fitting(stops: readonly Stop[]): readonly Stop[] {
    const fits = (some: readonly Stop[]) => some.length <= LINES_MAX && (railsOf(some).width + 1) / 2 <= RAILS_MAX;
    if (stops.length <= ALIKE_MAX) return stops;
    const folded = this.#folded(stops);
    return fits(folded) ? folded : byLevel(stops);
  }

  /** Nodes that wait for the same and that the same wait for, where they are many. */
  #folded(stops: readonly Stop[]): readonly Stop[] {
    const behind = stops.map((): number[] => []);
    for (const [index, { after }] of stops.entries()) for (const before of after) behind[before]!.push(index);
    const alike = new Map<string, Stop[]>();
    for (const [index, stop] of stops.entries()) {
      const { id, when, onFailure } = stop.nodes[0]!;
      const key = this.#inside.has(id) ? id : `${stop.after.join()}>${behind[index]!.join()} ${when} ${onFailure}`;
      const list = alike.get(key);
      if (list) list.push(stop);
      else alike.set(key, [stop]);
    }
    return connected(
      [...alike.values()].flatMap((list) => {
        if (list.length <= ALIKE_MAX) return list;
        const name = `${list[0]!.name} … ${list.at(-1)!.name}`;
        return [{ nodes: list.flatMap(({ nodes }) => nodes), after: [], name }];
      }),
    );
  }

  #words({ nodes, name, after }: Stop, stops: readonly Stop[], nameWidth: number, columns: number): string {
    const state = stateOf({ nodes });
    const [first] = nodes;
    const rules = nodes.length > 1 ? [] : rulesOf(first!);
    // Rails that meet may be read in two ways: the names may not.
    if (after.length > 1) rules.push(`after ${namesOf(after.map((index) => stops[index]!.name))}`);
    const told = nodes.length > 1 ? [`${nodes.length} nodes: ${statesIn(nodes)}`] : [state];
    const facts = [...told, ...countsOf(nodes), ...rules].join(", ");
    const plain = `${fitTo(oneLine(name), nameWidth)}  ${facts}`;
    const cut = fitTo(plain, Math.max(8, Math.min(columns, widthOf(plain))));
    // The state stands right behind the name: painted where the cut has left it whole.
    const at = widthOf(fitTo(oneLine(name), nameWidth)) === nameWidth ? cut.indexOf(`  ${state}`) : -1;
    if (nodes.length > 1 || at < 0) return cut;
    return `${cut.slice(0, at + 2)}${this.#paint(state, state)}${cut.slice(at + 2 + state.length)}`;
  }

  #insideOf({ nodes }: Stop, rails: string, columns: number, depth: number): string[] {
    const inner = nodes.length === 1 ? (this.#inside.get(nodes[0]!.id) ?? []) : [];
    if (inner.length === 0) return [];
    if (depth >= DEPTH_MAX || columns < 30) return [`${rails}  ╰ ${inner.length} nodes inside`];
    const lines = this.draw(inner, columns, depth + 1);
    return [...lines.map((line) => `${rails}  ┆ ${line}`), `${rails}  ╰`];
  }
}

/** Fills in which stop waits for which, by the nodes that the stops stand for; a stop does not wait for itself. */
function connected(stops: readonly Stop[]): Stop[] {
  const ordered = inOrder(stops);
  const indexes = new Map(ordered.flatMap(({ nodes }, index) => nodes.map(({ id }) => [id, index] as const)));
  return ordered.map((stop, index) => {
    const before = stop.nodes.flatMap(({ after }) => after.map((id) => indexes.get(id)));
    const after = [...new Set(before)].filter((at): at is number => at !== undefined && at !== index);
    return { ...stop, after: after.toSorted((a, b) => a - b) };
  });
}

/** Ids follow the declaration: nodes come behind those that they wait for. Of a stop that stands for several, the first one counts. */
const inOrder = (stops: readonly Stop[]): Stop[] =>
  stops.toSorted((a, b) => compareIds(a.nodes[0]!.id, b.nodes[0]!.id));

const compareIds = (a: string, b: string) => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);

/** A line a level; where even these are too many, a line for several levels. */
function byLevel(stops: readonly Stop[]): Stop[] {
  const levels = levelsOf(stops);
  const deepest = levels.reduce((a, b) => Math.max(a, b), 0);
  const each = Math.ceil((deepest + 1) / LINES_MAX);
  const bands: PicturedNode[][] = [];
  for (const [index, { nodes }] of stops.entries()) {
    const band = Math.floor(levels[index]! / each);
    bands[band] ??= [];
    bands[band].push(...nodes);
  }
  return bands.map((nodes, band) => {
    const first = band * each + 1;
    const last = Math.min(deepest + 1, first + each - 1);
    const which = first === last ? `level ${first}` : `levels ${first} to ${last}`;
    return {
      nodes,
      name: nodes.length === 1 ? nodes[0]!.name : `${which}: ${nodes[0]!.name} …`,
      after: band === 0 ? [] : [band - 1],
    };
  });
}

const COUNTED = ["failed", "cancelled", "pending", "waiting", "skipped", "succeeded"] as const;

/** Of many the state that matters most to an operator. */
const stateOf = ({ nodes }: Pick<Stop, "nodes">): BatchState =>
  COUNTED.find((state) => nodes.some((node) => node.state === state)) ?? "waiting";

const statesIn = (nodes: readonly PicturedNode[]) =>
  COUNTED.map((state) => [state, nodes.filter((node) => node.state === state)] as const)
    .filter(([, some]) => some.length > 0)
    .map(([state, some]) => {
      const who = state === "failed" ? ` (${namesOf(some.map(({ name }) => name))})` : "";
      return `${some.length} ${state}${who}`;
    })
    .join(", ");

function countsOf(nodes: readonly PicturedNode[]): string[] {
  const sum = (of: "done" | "dead" | "cancelled" | "live") => nodes.reduce((total, node) => total + node[of], 0);
  return (["done", "dead", "cancelled", "live"] as const).flatMap((of) => (sum(of) > 0 ? [`${sum(of)} ${of}`] : []));
}

function rulesOf({ when, onFailure }: PicturedNode): string[] {
  return [
    ...(when === "succeeded" ? [] : [`when ${when}`]),
    ...(onFailure === "fail" ? [] : [`on failure ${onFailure}`]),
  ];
}

function namesOf(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).map(oneLine).join(", ");
  return names.length > NAMES_MAX ? `${shown} and ${names.length - NAMES_MAX} more` : shown;
}
