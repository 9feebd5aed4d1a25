-- A key's meter says whether its rate put jobs back that wait: a claim then knows by the row it locks anyway that nobody does.

set local lock_timeout = '10s';

alter table fairmill.meter add column waits boolean not null default false;  -- of a key: jobs may wait that its rate put back
update fairmill.meter m set waits = true
where m.use = 'start' and m.scope = 'key'
  and exists (select from fairmill.job j where j.limit_key = m.name and j.state = 'scheduled' and j.put_back);
