// I8: batches and flows end when everything inside has ended, are looked at until then, call back once, and count each member once.
import type { Invariant } from "./invariant.js";

/** The first day whose history is still whole: members of a batch that is older may have been removed, though the batch counted them. */
const KEPT_SINCE = `coalesce((select min(to_date(right(c.relname, 8), 'YYYYMMDD'))::timestamp at time zone 'UTC'
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'fairmill.job_history'::regclass and c.relname ~ '^job_history_[0-9]{8}$'), 'infinity')`;

export const BATCH_INVARIANTS: readonly Invariant[] = [
  {
    id: "I8",
    sentence: "a batch that is over has no live member, nothing inside that is not over, and no hold",
    walk: "batch",
    query: `select b.id from fairmill.batch b
      where b.id > $1 and ($2::bigint is null or b.id <= $2) and b.ended_at is not null
        and (exists (select from fairmill.job j where j.batch = b.id)
          or exists (select from fairmill.batch c where c.parent = b.id and c.ended_at is null)
          or exists (select from fairmill.batch_hold h where h.batch = b.id))`,
  },
  {
    id: "I8",
    sentence: "a batch that is not over has a reason, or upkeep looks at it",
    walk: "batch",
    query: `select b.id from fairmill.batch b
      where b.id > $1 and ($2::bigint is null or b.id <= $2) and b.state = 'pending' and b.check_at is null
        and not exists (select from fairmill.job j where j.batch = b.id)
        and not exists (select from fairmill.batch c where c.parent = b.id and c.ended_at is null)`,
  },
  {
    id: "I8",
    sentence: "a node waits for those before it that are not over, as many as it says, or for the node around it",
    walk: "batch",
    query: `select n.id from fairmill.batch n join fairmill.batch p on p.id = n.parent
      cross join lateral (
        select count(*) as waits from fairmill.batch_edge e join fairmill.batch x on x.id = e.before where e.after = n.id and x.ended_at is null) c
      where n.id > $1 and ($2::bigint is null or n.id <= $2) and n.state = 'waiting'
        and (n.waits <> c.waits or n.waits = 0 and p.state <> 'waiting' or p.ended_at is not null)`,
  },
  {
    id: "I8",
    sentence: "a batch that is over has called back, and one that is not has not succeeded",
    walk: "batch",
    query: `select b.id from fairmill.batch b
      where b.id > $1 and ($2::bigint is null or b.id <= $2)
        and (b.ended_at is not null and b.callbacks ? 'complete' and b.complete_job is null
          or b.state = 'succeeded' and b.callbacks ? 'success' and b.success_job is null
          or b.dead > 0 and b.callbacks ? 'death' and b.death_job is null)`,
  },
  {
    id: "I8",
    sentence: "a batch counts each member that ended, once",
    walk: "batch",
    query: `select b.id from fairmill.batch b
      cross join lateral (
        select count(*) filter (where h.state = 'done') as done, count(*) filter (where h.state = 'dead') as dead,
          count(*) filter (where h.state = 'cancelled') as cancelled
        from fairmill.job_history h where h.batch = b.id) c
      where b.id > $1 and ($2::bigint is null or b.id <= $2) and b.role = 'batch'
        and case when b.created_at >= ${KEPT_SINCE} then (b.done, b.dead, b.cancelled) is distinct from (c.done, c.dead, c.cancelled)
          else b.done < c.done or b.dead < c.dead or b.cancelled < c.cancelled end`,
  },
];
