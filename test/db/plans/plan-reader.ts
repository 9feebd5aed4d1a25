// Reads the plans of every statement that a call runs, also inside functions: auto_explain tells them to the session that asked.
import type { Session } from "../../support/sql/sessions.js";

export interface Node {
  /** "Seq Scan", "Index Scan", … */
  readonly type: string;
  readonly relation: string | undefined;
  readonly index: string | undefined;
  readonly isBackward: boolean;
  readonly condition: string | undefined;
  /** Rows that the node gave, and rows that it read in vain, over all its loops. */
  readonly rows: number;
  readonly rowsInVain: number;
  readonly loops: number;
  /** Blocks of the cache that the node and those below it looked at. */
  readonly blocks: number;
  readonly children: readonly Node[];
}

export interface Plan {
  readonly query: string;
  readonly root: Node;
}

interface RawNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Scan Direction"?: string;
  "Index Cond"?: string;
  "TID Cond"?: string;
  "Actual Rows"?: number;
  "Actual Loops"?: number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  "Shared Hit Blocks"?: number;
  "Shared Read Blocks"?: number;
  Plans?: RawNode[];
}

const PINNED = `set plan_cache_mode = force_generic_plan; set jit = off; set enable_seqscan = off; set enable_hashjoin = off;
  set enable_mergejoin = off; set enable_bitmapscan = off`;

export async function explainEverything(session: Session): Promise<void> {
  await session.query(`load 'auto_explain';
    set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on; set auto_explain.log_level = 'notice';
    set auto_explain.log_format = 'json'; set auto_explain.log_analyze = on; set auto_explain.log_timing = off; set auto_explain.log_buffers = on;
    set client_min_messages = 'notice'`);
  // As the public functions set it, so that inner ones can be called by themselves.
  await session.query(PINNED);
}

/** Runs the statement and rolls it back; returns the plans of all statements in it, innermost first. What `before` does is not looked at. */
export async function plansOf(
  session: Session,
  statement: string,
  values: unknown[] = [],
  before?: string,
): Promise<Plan[]> {
  await runAndRollBack(session, statement, values, before);
  const plans = session.notices.filter((notice) => notice.startsWith("duration:")).map(read);
  if (plans.length === 0) throw new Error(`No plan was told for ${statement}.`);
  return plans;
}

/** Runs the statement and rolls it back: the session keeps the plans that it made for it, and the notices of the statement itself. */
export async function runAndRollBack(
  session: Session,
  statement: string,
  values: unknown[] = [],
  before?: string,
): Promise<void> {
  await session.query("begin");
  if (before) await session.query(before);
  session.notices.length = 0;
  await session.query(statement, values);
  const told = session.notices.length;
  await session.query("rollback");
  session.notices.length = told;
}

function read(notice: string): Plan {
  const told = JSON.parse(notice.slice(notice.indexOf("{"))) as { "Query Text": string; Plan: RawNode };
  return { query: told["Query Text"], root: toNode(told.Plan) };
}

function toNode(raw: RawNode): Node {
  // The index of a bitmap scan is a node below it that does not name the table: here they are one.
  const bitmap = raw["Node Type"] === "Bitmap Heap Scan" ? raw.Plans?.[0] : undefined;
  return {
    type: raw["Node Type"],
    relation: raw["Relation Name"],
    index: raw["Index Name"] ?? bitmap?.["Index Name"],
    isBackward: raw["Scan Direction"] === "Backward",
    condition: raw["Index Cond"] ?? bitmap?.["Index Cond"] ?? raw["TID Cond"],
    rows: (raw["Actual Rows"] ?? 0) * (raw["Actual Loops"] ?? 0),
    rowsInVain:
      ((raw["Rows Removed by Filter"] ?? 0) + (raw["Rows Removed by Index Recheck"] ?? 0)) * (raw["Actual Loops"] ?? 0),
    loops: raw["Actual Loops"] ?? 0,
    blocks: (raw["Shared Hit Blocks"] ?? 0) + (raw["Shared Read Blocks"] ?? 0),
    children: (raw.Plans ?? []).map(toNode),
  };
}

/** The node and all below it. */
export const all = (node: Node): Node[] => [node, ...node.children.flatMap(all)];

export type Table =
  | "job"
  | "job_history"
  | "account"
  | "credit_entry"
  | "credit_pending"
  | "outbox"
  | "limit_setting"
  | "meter"
  | "schedule"
  | "schedule_tick"
  | "batch"
  | "batch_edge"
  | "batch_hold";

/** The nodes of these plans that read the table, or a partition of the history. */
export const readersOf = (plans: readonly Plan[], table: Table): Node[] =>
  plans
    .flatMap(({ root }) => all(root))
    .filter(({ type, relation }) => type !== "ModifyTable" && relation?.replace(/^(job_history)_.*/, "$1") === table);

/** How a plan reads a table, in a word: "job_pkey", "job_lane backward", "Tid Scan", "Seq Scan". */
export const wayOf = (node: Node): string =>
  node.index ? `${node.index}${node.isBackward ? " backward" : ""}` : node.type;

/** The plan as lines of text, for the message of a failure. */
export const draw = (node: Node, depth = 0): string =>
  [
    `${"  ".repeat(depth)}${node.type}${node.relation ? ` on ${node.relation}` : ""}${node.index ? ` by ${node.index}` : ""}` +
      `${node.condition ? ` (${node.condition})` : ""} rows ${node.rows}, in vain ${node.rowsInVain}, blocks ${node.blocks}`,
    ...node.children.map((child) => draw(child, depth + 1)),
  ].join("\n");
