// Where the nodes of a graph go. dagre does it, and is loaded only when a graph is looked at.
import { graphlib, layout } from "@dagrejs/dagre";

export interface Placed {
  readonly width: number;
  readonly height: number;
  readonly nodes: ReadonlyMap<string, { x: number; y: number }>;
  readonly edges: readonly { from: string; to: string; points: readonly { x: number; y: number }[] }[];
}

export const NODE = { width: 164, height: 46 };

/** Names are the user's: the graph knows nodes by number. */
export function place(nodes: readonly { id: string; after: readonly string[] }[], down: boolean): Placed {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: down ? "TB" : "LR", nodesep: 14, ranksep: down ? 30 : 34, marginx: 6, marginy: 6 });
  graph.setDefaultEdgeLabel(() => ({}));
  const numbers = new Map(nodes.map(({ id }, index) => [id, `n${index}`]));
  const ids = new Map([...numbers].map(([id, number]) => [number, id]));
  for (const number of numbers.values()) graph.setNode(number, { ...NODE });
  for (const node of nodes)
    for (const before of node.after) {
      const from = numbers.get(before);
      if (from !== undefined) graph.setEdge(from, numbers.get(node.id)!);
    }
  layout(graph);
  const size = graph.graph() as { width?: number; height?: number };
  return {
    width: size.width ?? 0,
    height: size.height ?? 0,
    nodes: new Map([...numbers].map(([id, number]) => [id, graph.node(number) as { x: number; y: number }])),
    edges: graph.edges().map(({ v, w }) => ({
      from: ids.get(v)!,
      to: ids.get(w)!,
      points: (graph.edge(v, w) as { points: { x: number; y: number }[] }).points,
    })),
  };
}
