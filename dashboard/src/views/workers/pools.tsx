// Pools of a supervisor and its processes, each in its state of life, and the table of these states.
import { CHILD_STATES } from "../../data/child-states";
import type { PoolRow } from "../../data/contract";
import { count, many } from "../../format/numbers";
import { iconOf, toneOf } from "../../parts/badge";
import { Icon } from "../../parts/icon";
import { Panel } from "../../parts/panel";
import { LifeCycle } from "./life-cycle";

export const Pools = ({ pools }: { pools: readonly PoolRow[] }) => (
  <Panel title="Pools" note="processes under a supervisor, by state of life">
    <ul class="stack pools">
      {pools.map((pool) => (
        <li key={`${pool.pool}${pool.supervisor}`} class="stack tight">
          <div class="row wraps">
            <strong>{pool.pool}</strong>
            <span class="num">
              {count(pool.actual)} of {many(pool.wanted, "process", "processes")} wanted
            </span>
            <span class="quiet small">
              {pool.policy}, {count(pool.min)} to {count(pool.max)}
              {pool.host ? `, on ${pool.host}` : ""}
              {pool.heldBy ? `, led by ${pool.heldBy}` : ""}
            </span>
          </div>
          <ul class="children">
            {[...pool.children]
              .sort((a, b) => CHILD_STATES.indexOf(a.state) - CHILD_STATES.indexOf(b.state))
              .map((child) => (
                <li
                  key={child.pid}
                  class={`tone-${toneOf(child.state)}`}
                  title={`pid ${child.pid}, ${child.state}${child.draining ? ", draining" : ""}${child.exit ? `, ${child.exit}` : ""}`}
                >
                  <Icon name={iconOf(child.state)} small />
                  <span>{child.draining ? `${child.state}, draining` : child.state}</span>
                  <span class="quiet">{child.pid}</span>
                  {child.restarts > 0 && <span>↻{child.restarts}</span>}
                </li>
              ))}
          </ul>
        </li>
      ))}
    </ul>
    <LifeCycle pools={pools} />
  </Panel>
);
