// The graph of a flow. Each node says its name, its state in words and icon; the critical path is thicker.
import { useEffect, useState } from "preact/hooks";
import { useWidth } from "../../charts/width";
import type { FlowNode } from "../../data/contract";
import { iconOf, toneOf } from "../../parts/badge";
import { Icon } from "../../parts/icon";
import { Empty, Loading, Notice } from "../../parts/states";
import { type FoldedNode, fold, nameOf, stateOf, wordsOf } from "./fold";
import type { Placed } from "./layout";

/** Beyond this a picture says nothing; the Gantt and the list of jobs do. */
const DRAWN_MAX = 300;
const NODE = { width: 164, height: 46 };

export function FlowGraph({
  nodes,
  chosen,
  choose,
}: {
  nodes: readonly FlowNode[];
  chosen: string | null;
  choose: (id: string) => void;
}) {
  const [frame, width] = useWidth();
  const [placed, setPlaced] = useState<Placed | null>(null);
  const [failed, setFailed] = useState(false);
  const folded = fold(nodes);
  const down = width < 620;
  const shape = folded.map(({ id, after }) => `${id}<${after.join(",")}`).join(";");
  useEffect(() => {
    if (folded.length > DRAWN_MAX || folded.length === 0) return;
    let left = false;
    import("./layout")
      .then(({ place }) => !left && setPlaced(place(folded, down)))
      .catch(() => !left && setFailed(true));
    return () => {
      left = true;
    };
  }, [shape, down]);
  if (folded.length === 0) return <Empty icon="flows" title="This flow has no nodes" />;
  if (failed)
    return (
      <Notice icon="flows" tone="blocked">
        This graph could not be laid out. Look at the Gantt, or at the jobs.
      </Notice>
    );
  if (folded.length > DRAWN_MAX)
    return (
      <Notice icon="flows" tone="blocked">
        {folded.length} groups of nodes are too many for a picture. Look at the Gantt, or at the jobs.
      </Notice>
    );
  return (
    <div ref={frame}>
      {placed ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <div class="table-frame graph" tabIndex={0} role="region" aria-label="Graph of the flow">
          <svg {...fitted(placed, width)} role="group" aria-label={`${nodes.length} nodes`}>
            {placed.edges.map((edge) => (
              <path
                key={`${edge.from}>${edge.to}`}
                class={critical(folded, edge.from) && critical(folded, edge.to) ? "edge critical" : "edge"}
                d={edgePath(edge, placed, down)}
              />
            ))}
            {folded.map((one) => {
              const at = placed.nodes.get(one.id);
              return (
                at && (
                  <GraphNode
                    key={one.id}
                    one={one}
                    x={at.x}
                    y={at.y}
                    chosen={one.nodes.some(({ id }) => id === chosen)}
                    choose={() => choose(worst(one).id)}
                  />
                )
              );
            })}
          </svg>
        </div>
      ) : (
        <Loading rows={6} />
      )}
    </div>
  );
}

/** Drawn smaller where it is a little too wide, as long as its words can be read; scrolled otherwise. */
function fitted(placed: Placed, width: number) {
  const scale = Math.min(1, Math.max(0.7, width / placed.width));
  return {
    width: placed.width * scale,
    height: placed.height * scale,
    viewBox: `0 0 ${placed.width} ${placed.height}`,
  };
}

/** Of a folded group the one that needs attention is shown. */
const worst = (one: FoldedNode): FlowNode =>
  one.nodes.find((node) => node.state === "failed") ?? one.nodes.find((node) => node.endedAt === null) ?? one.nodes[0]!;

const critical = (folded: readonly FoldedNode[], id: string): boolean =>
  folded.find((one) => one.id === id)?.nodes.some((node) => node.onCriticalPath) ?? false;

/** From the middle of one side to the middle of the other, through the points that keep long edges clear of nodes. */
function edgePath(edge: Placed["edges"][number], placed: Placed, down: boolean): string {
  const from = placed.nodes.get(edge.from);
  const to = placed.nodes.get(edge.to);
  if (!from || !to) return "";
  const half = (down ? NODE.height : NODE.width) / 2;
  const start = down ? { x: from.x, y: from.y + half } : { x: from.x + half, y: from.y };
  const end = down ? { x: to.x, y: to.y - half } : { x: to.x - half, y: to.y };
  let path = `M${start.x} ${start.y}`;
  let last = start;
  for (const point of [...(edge.points.length > 3 ? edge.points.slice(1, -1) : []), end]) {
    path += down
      ? `C${last.x} ${(last.y + point.y) / 2} ${point.x} ${(last.y + point.y) / 2} ${point.x} ${point.y}`
      : `C${(last.x + point.x) / 2} ${last.y} ${(last.x + point.x) / 2} ${point.y} ${point.x} ${point.y}`;
    last = point;
  }
  return path;
}

function GraphNode({
  one,
  x,
  y,
  chosen,
  choose,
}: {
  one: FoldedNode;
  x: number;
  y: number;
  chosen: boolean;
  choose: () => void;
}) {
  const state = stateOf(one.nodes);
  const name = nameOf(one);
  return (
    <g
      class={`graph-node tone-${toneOf(state)} ${chosen ? "chosen" : ""} ${one.nodes.some((node) => node.onCriticalPath) ? "critical" : ""}`}
      transform={`translate(${x - NODE.width / 2} ${y - NODE.height / 2})`}
      role="button"
      tabIndex={0}
      aria-pressed={chosen}
      onClick={choose}
      onKeyDown={(event) => (event.key === "Enter" || event.key === " ") && choose()}
    >
      {one.nodes.length > 1 && <rect class="behind" x={4} y={4} width={NODE.width} height={NODE.height} rx={8} />}
      <rect class="card" width={NODE.width} height={NODE.height} rx={8} />
      <svg x={12} y={15} width={16} height={16} class="graph-icon" aria-hidden="true">
        <Icon name={iconOf(state)} />
      </svg>
      <text class="graph-name" x={38} y={20}>
        {name.length > 18 ? `${name.slice(0, 17)}…` : name}
      </text>
      <text class="graph-words" x={38} y={36}>
        {wordsOf(one)}
      </text>
      {name.length > 18 && <title>{name}</title>}
    </g>
  );
}
