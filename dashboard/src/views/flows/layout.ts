// Where the nodes of a graph go. dagre does it, and is loaded only when a graph is looked at.
import { graphlib, layout } from "@dagrejs/dagre";

export interface Placed {
  readonly width: number;
  readonly height: number;
  readonly nodes: ReadonlyMap<string, { x: number; y: number }>;
  readonly edges: readonly { from: string; to: string; points: readonly { x: number; y: number }[] }[];
}

export const NODE = { width: 164, height: 46 };

export function place(nodes: readonly { id: string; after: readonly string[] }[], down: boolean): Placed {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: down ? "TB" : "LR", nodesep: 14, ranksep: down ? 30 : 34, marginx: 6, marginy: 6 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.id, { ...NODE });
  for (const node of nodes) for (const before of node.after) graph.setEdge(before, node.id);
  layout(graph);
  const size = graph.graph() as { width?: number; height?: number };
  return {
    width: size.width ?? 0,
    height: size.height ?? 0,
    nodes: new Map(nodes.map(({ id }) => [id, graph.node(id) as { x: number; y: number }])),
    edges: graph.edges().map(({ v, w }) => ({
      from: v,
      to: w,
      points: (graph.edge(v, w) as { points: { x: number; y: number }[] }).points,
    })),
  };
}
