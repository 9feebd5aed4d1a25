// Fan-out folded: nodes that wait for the same and that the same wait for are drawn as one, "×120, 3 failed".
import type { FlowNode } from "../../data/contract";

export interface FoldedNode {
  readonly id: string;
  readonly nodes: readonly FlowNode[];
  readonly after: readonly string[];
}

const ALIKE_MIN = 4;

/** The part of a name that its siblings share: "render-17" is one of "render". */
const stem = (name: string | null): string => (name ?? "").replace(/[\s\-_:.[(#]*\d+[\])]?$/, "");

export function fold(nodes: readonly FlowNode[]): FoldedNode[] {
  const followers = new Map<string, string[]>();
  for (const node of nodes)
    for (const before of node.after) followers.set(before, [...(followers.get(before) ?? []), node.id]);
  const groups = new Map<string, FlowNode[]>();
  for (const node of nodes) {
    const like = JSON.stringify([stem(node.name), [...node.after].sort(), [...(followers.get(node.id) ?? [])].sort()]);
    groups.set(like, [...(groups.get(like) ?? []), node]);
  }
  const shown = [...groups.values()].flatMap((group) =>
    group.length >= ALIKE_MIN ? [group] : group.map((node) => [node]),
  );
  const home = new Map<string, string>();
  for (const group of shown) for (const node of group) home.set(node.id, group[0]!.id);
  return shown.map((group) => ({
    id: group[0]!.id,
    nodes: group,
    after: [...new Set(group.flatMap((node) => node.after.flatMap((before) => home.get(before) ?? [])))],
  }));
}

/** One state for the group: the worst that needs attention first. */
export function stateOf(group: readonly FlowNode[]): string {
  for (const state of ["failed", "running", "pending", "open", "waiting", "cancelled", "skipped"])
    if (group.some((node) => node.state === state)) return state;
  return group[0]?.state ?? "waiting";
}

export function wordsOf({ nodes }: FoldedNode): string {
  const [first] = nodes;
  if (nodes.length === 1) {
    const jobs = first!.done + first!.dead + first!.cancelled + first!.live.count;
    // A card has room for twenty letters.
    return jobs > 1 ? `${first!.done} of ${jobs}${first!.dead > 0 ? `, ${first!.dead} dead` : " jobs"}` : first!.state;
  }
  const failed = nodes.filter((node) => node.state === "failed").length;
  const done = nodes.filter((node) => node.state === "succeeded").length;
  return failed > 0 ? `${failed} failed, ${done} done` : `${done} of ${nodes.length} done`;
}

export const nameOf = ({ nodes }: FoldedNode): string =>
  nodes.length === 1 ? (nodes[0]!.name ?? nodes[0]!.id) : `${stem(nodes[0]!.name) || "nodes"} ×${nodes.length}`;
