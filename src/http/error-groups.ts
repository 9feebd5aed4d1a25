// Errors of ended jobs, grouped by kind, code and the pattern of their message: numbers, ids and quoted names do not make another error.
import type { Session } from "../db/session.js";

/** Newest jobs that are looked at, groups that are told, parts of the sparkline. */
export const LOOKED_MAX = 10_000;
const GROUPS_MAX = 200;
export const PARTS = 24;

const PATTERN = `left(regexp_replace(regexp_replace(coalesce(h.error ->> 'message', ''), '"[^"]*"|''[^'']*''', '…', 'g'), '[0-9a-fA-F]{8,}|[0-9]+', '…', 'g'), 200)`;
const GROUPS = `with looked as materialized (
    select h.id, h.kind, h.tenant, h.ended_at, h.error ->> 'code' as code, h.error ->> 'name' as name, left(h.error ->> 'message', 1000) as message,
      ${PATTERN} as pattern, (select coalesce(w.stats ->> 'deployment', w.version) from fairmill.worker w where w.id = h.worker) as version,
      least(greatest(width_bucket(extract(epoch from h.ended_at), extract(epoch from $2::timestamptz), extract(epoch from clock_timestamp()), ${PARTS}), 1), ${PARTS}) as part
    from fairmill.job_history h
    where h.state = $1 and h.ended_at >= $2::timestamptz and ($3::text is null or h.queue = $3) and ($4::text is null or h.kind = $4)
      and ($5::text is null or h.tenant = $5)
    order by h.id desc limit ${LOOKED_MAX}),
  grouped as (
    select kind, code, pattern, count(*)::integer as count, min(ended_at) as first_at, max(ended_at) as last_at, max(id) as newest, count(distinct tenant)::integer as tenants,
      array_agg(part) as parts, (array_agg(name order by id desc))[1] as name, (array_agg(coalesce(message, '') order by id desc))[1] as message,
      (array_agg(version order by id))[1] as first_version
    from looked group by kind, code, pattern order by count desc, max(id) desc limit ${GROUPS_MAX}),
  by_tenant as (select kind, code, pattern, tenant, count(*)::integer as n, row_number() over (partition by kind, code, pattern order by count(*) desc, tenant) as place
    from looked group by kind, code, pattern, tenant),
  by_version as (select kind, code, pattern, version, count(*)::integer as n, row_number() over (partition by kind, code, pattern order by count(*) desc) as place
    from looked group by kind, code, pattern, version)
  select g.kind, g.code, g.pattern, g.count, g.first_at as "firstSeenAt", g.last_at as "lastSeenAt", g.newest::text as sample, g.tenants, g.parts, g.name, g.message,
    g.first_version as "firstVersion", (select count(*)::integer from looked) as looked,
    (select jsonb_agg(jsonb_build_object('tenant', t.tenant, 'count', t.n) order by t.place) from by_tenant t
      where t.kind = g.kind and t.code is not distinct from g.code and t.pattern = g.pattern and t.place <= 5) as "topTenants",
    (select jsonb_agg(jsonb_build_object('version', v.version, 'count', v.n) order by v.place) from by_version v
      where v.kind = g.kind and v.code is not distinct from g.code and v.pattern = g.pattern and v.place <= 5) as versions
  from grouped g order by g.count desc, g.newest desc`;

interface GroupRow {
  readonly kind: string;
  readonly code: string | null;
  readonly pattern: string;
  readonly count: number;
  readonly parts: readonly number[];
  readonly message: string;
  readonly looked: number;
  readonly [more: string]: unknown;
}

export interface ErrorQuery {
  readonly state: "dead" | "cancelled";
  readonly since: string;
  readonly queue: string | undefined;
  readonly kind: string | undefined;
  readonly tenant: string | undefined;
}

export async function readErrorGroups(db: Session, query: ErrorQuery) {
  const { state, since, queue, kind, tenant } = query;
  const rows = await db.query<GroupRow>(GROUPS, [state, since, queue ?? null, kind ?? null, tenant ?? null]);
  const looked = rows[0]?.looked ?? 0;
  const items = rows.map(({ looked: _looked, parts, ...row }) => ({
    ...row,
    fingerprint: Buffer.from(JSON.stringify([row.kind, row.code, row.pattern])).toString("base64url"),
    spark: sparkOf(parts),
    filter: filterOf(row, state, tenant),
  }));
  return { items, looked: { count: looked, more: looked >= LOOKED_MAX } };
}

const sparkOf = (parts: readonly number[]): number[] => {
  const spark = new Array<number>(PARTS).fill(0);
  for (const part of parts) spark[part - 1]! += 1;
  return spark;
};

/** What finds the jobs of a group again: its code, or else the longest part of the message that stays the same. */
function filterOf(
  { kind, code, pattern }: Pick<GroupRow, "kind" | "code" | "pattern">,
  state: string,
  tenant: string | undefined,
): Record<string, unknown> {
  const literal = pattern.split("…").toSorted((a, b) => b.length - a.length)[0] ?? "";
  return {
    state,
    kind,
    ...(tenant !== undefined && { tenant }),
    ...(code !== null ? { errorCode: code } : literal !== "" && { errorText: literal }),
  };
}
