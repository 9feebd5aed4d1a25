-- Says what is enqueued when a message of a channel has its end. The last word counts: a worker says it when it starts.
--   ends  {"telegram": {"kind": "message.ended", "queue", "priority", "max_attempts", "timeout_ms", "expire_ms"}, …};
--         null: nothing is enqueued any more
-- Result: nothing.
-- Locks: 33 channel end.
create or replace function fairmill.define_channels_v1(ends jsonb)
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  delete from fairmill.channel_end c where c.channel in (
    select e.channel from jsonb_each(ends) as e (channel, job) where e.job = 'null');
  insert into fairmill.channel_end as c (channel, job)
  select e.channel, e.job from jsonb_each(ends) as e (channel, job) where e.job <> 'null'
  order by e.channel collate "C"
  on conflict (channel) do update set job = excluded.job where c.job is distinct from excluded.job;
end
$$;
