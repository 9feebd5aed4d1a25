-- What retention would remove of one partition of the history now, by rule; it removes nothing. Reads the whole
-- partition: call it for one after the other.
--   part          the partition, or null: answers with their names alone, oldest first
--   history_keep  the general age
--   rules         other rules to try, as declare_retention_v1 takes them; null: those that are in force
-- Result: a row for each rule that jobs go by (all names null: the general age), with how many go and how many stay.
-- Locks: none.
create or replace function fairmill.preview_retention_v1(part text, history_keep interval default '30 days',
  rules jsonb default null)
returns table (day text, kind text, state text, tenant text, keep_ms bigint, removed bigint, kept bigint)
language plpgsql stable
set timezone = 'UTC'
as $$
#variable_conflict use_column
declare
  v_general bigint := (extract(epoch from history_keep) * 1000)::bigint;
begin
  if part is null then
    return query
      select d.part, null::text, null::text, null::text, null::bigint, null::bigint, null::bigint
      from fairmill.history_days() d;
    return;
  end if;
  if not exists (select from fairmill.history_days() d where d.part = preview_retention_v1.part) then
    return;
  end if;
  -- The whole partition is read: no index helps, and the rules are joined to all of its rows. For this call alone.
  perform set_config('enable_hashjoin', 'on', true), set_config('enable_seqscan', 'on', true);
  return query execute format('with ruled as (
      select r.tenant, r.kind, r.state, r.source, r.keep_ms from fairmill.retention_rule r where $2 is null
      union all
      select coalesce(w.tenant, ''''), coalesce(w.kind, ''''), coalesce(w.state, ''''), ''set'', w.keep_ms
      from jsonb_to_recordset($2) as w (tenant text, kind text, state text, keep_ms bigint)),
    sorts as materialized (
      select s.tenant, s.kind, s.state, r.tenant as of_tenant, r.kind as of_kind, r.state as of_state,
        case when r.tenant is null then $1 else r.keep_ms end as keep_ms
      from (select distinct h.tenant, h.kind, h.state from fairmill.%1$I h) s left join lateral (
        select x.tenant, x.kind, x.state, x.keep_ms from ruled x
        where x.tenant in ('''', s.tenant) and x.kind in ('''', s.kind) and x.state in ('''', s.state)
        order by x.tenant = '''', x.kind = '''', x.state = '''', x.source = ''declared'' limit 1) r on true)
    select %2$L::text, nullif(s.of_kind, ''''), nullif(s.of_state, ''''), nullif(s.of_tenant, ''''), s.keep_ms,
      count(*) filter (where h.ended_at < now() - s.keep_ms * interval ''1 millisecond''),
      count(*) filter (where (h.ended_at < now() - s.keep_ms * interval ''1 millisecond'') is not true)
    from fairmill.%1$I h join sorts s on s.tenant = h.tenant and s.kind = h.kind and s.state = h.state
    group by s.of_kind, s.of_state, s.of_tenant, s.keep_ms order by 6 desc, 2, 3, 4', part, part)
  using v_general, rules;
end
$$;
