-- Writes what handlers asked for while they ran: jobs and messages. Part of settle_v1: all of it, or nothing of the
-- settle.
--   mine     the jobs whose fence holds, and that are being settled by this very call;  ids, details: as settle_v1 has
--            them effects of a detail: {"enqueue": [jobs as enqueue_many_v1 takes them], "publish": [messages as
--            publish_many_v1 takes them]}
-- Result: of the jobs that are ready now the first of each lane, as [queue, priority, tenant, id]; null: none.
-- What does not let one of them in (a rate, slots, credits, a unique key) is error FM020, and the transaction ends with
-- it. Its detail is an object: the id of each settled job whose effects were refused, with the refusal. The others may
-- be settled without these.
-- Locks: as enqueue_many_v1, then as publish_many_v1. Here one may wait for callers' transactions; so the library
-- settles jobs with effects apart from the others.
create or replace function fairmill.apply_effects(mine bigint[], ids bigint[], details jsonb)
returns jsonb
language plpgsql
as $$
#variable_conflict use_column
declare
  v_jobs     jsonb;
  v_messages jsonb;
  v_askers   bigint[];   -- beside the jobs, or the messages: who asked for it
  v_made     bigint[];
  v_refusals jsonb;
begin
  select jsonb_agg(e.job order by u.n, e.n), array_agg(u.id order by u.n, e.n) into v_jobs, v_askers
  from unnest(ids) with ordinality as u (id, n)
  cross join lateral jsonb_array_elements(details -> (u.n - 1)::integer -> 'effects' -> 'enqueue') with ordinality
    as e (job, n)
  where u.id = any (mine);
  if v_jobs is not null then
    -- Of each the first refusal: an attempt has one error.
    select array_agg(j.id), jsonb_object_agg(v_askers[j.n], j.refusal order by j.n desc)
      filter (where j.refusal is not null) into v_made, v_refusals
    from unnest(fairmill.store_jobs(fairmill.parse_jobs(v_jobs, '{}'), true, false, 'none')) as j;
  end if;

  select jsonb_agg(e.message order by u.n, e.n), array_agg(u.id order by u.n, e.n) into v_messages, v_askers
  from unnest(ids) with ordinality as u (id, n)
  cross join lateral jsonb_array_elements(details -> (u.n - 1)::integer -> 'effects' -> 'publish') with ordinality
    as e (message, n)
  where u.id = any (mine);
  if v_messages is not null and v_refusals is null then
    select jsonb_object_agg(v_askers[m.n], m.refused order by m.n desc) filter (where m.refused <> '{}') into v_refusals
    from fairmill.publish_many_v1(v_messages, wake => true) with ordinality as m (id, created, refused, n);
  end if;

  if v_refusals is not null then
    raise exception 'what job % asked for was refused',
      (select string_agg(k, ', ') from jsonb_object_keys(v_refusals) k)
      using errcode = 'FM020', detail = v_refusals::text,
        hint = 'Nothing was settled. Settle these jobs as failed, and the others again.';
  end if;
  return (
    select jsonb_agg(jsonb_build_array(l.queue, l.priority, l.tenant, l.id))
    from (select distinct on (j.queue, j.priority, j.tenant) j.queue, j.priority, j.tenant, j.id from fairmill.job j
          where j.id = any (v_made) and j.state = 'ready' order by j.queue, j.priority, j.tenant, j.id) l);
end
$$;
