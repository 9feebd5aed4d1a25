-- Refuses jobs whose kind begins with "fairmill.": those are Fairmill's own. Only publish makes some, with the message
-- that they deliver.
-- Asked at every door where a job comes in, or the description of one.
--   jobs  an array of objects, as enqueue_many_v1 takes them
create or replace function fairmill.refuse_reserved(jobs jsonb)
returns void
language plpgsql stable
as $$
#variable_conflict use_variable
begin
  if jsonb_path_exists(jobs, '$[*] ? (@.kind starts with "fairmill." && !exists (@.outbox))') then
    raise exception 'the kind "%" is reserved: kinds that begin with "fairmill." are Fairmill''s own',
      jsonb_path_query_first(jobs, '$[*].kind ? (@ starts with "fairmill.")') #>> '{}'
      using errcode = 'FM001', hint =
        'Choose another name. A message is sent with publish_v1, which makes its delivery job.';
  end if;
end
$$;
