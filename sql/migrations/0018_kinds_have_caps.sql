-- How many jobs of a kind may run at once, said by its definition, is a cap like that of any other gate: it counts what runs. Places, which
-- such kinds had until now, are held by ready jobs, too, and those of a paused tenant held all of them.
set local lock_timeout = '10s';

alter table fairmill.gate
  add column set_max_running  integer,   -- what somebody has set; max_running is the lower one of the two
  add column rule_max_running integer;   -- of a kind: what its definition says
update fairmill.gate set set_max_running = max_running where max_running is not null;

insert into fairmill.gate as g (scope, name, max_running, rule_max_running)
select 'kind', r.kind, r.max_running, r.max_running from fairmill.key_rule r where r.per = 'kind' and r.when_full = 'wait' and r.max_running is not null
on conflict (scope, name) do update
set max_running = least(g.max_running, excluded.max_running), rule_max_running = excluded.rule_max_running, changed_at = clock_timestamp();
update fairmill.key_rule set max_running = null where per = 'kind' and when_full = 'wait';
delete from fairmill.key_rule where max_running is null and rate_limit is null;
update fairmill.job j
set slot = null, state = case when j.state = 'blocked' then 'ready' else j.state end, aside = nullif(j.aside, 'blocked')
from fairmill.gate g
where g.rule_max_running is not null and j.limit_key = jsonb_build_array(g.name)::text and (j.slot is not null or j.aside = 'blocked');
insert into fairmill.meter as m (use, scope, name, held)
select 'start', 'kind', j.kind, array_agg(j.id order by j.id)
from fairmill.gate g join fairmill.job j on j.kind = g.name and j.state = 'running' where g.rule_max_running is not null group by j.kind
on conflict (use, scope, name) do update set held = excluded.held;
-- Old ids are ready: workers look again.
update fairmill.queue set rescan_no = rescan_no + 1;
