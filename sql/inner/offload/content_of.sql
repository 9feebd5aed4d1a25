-- The file that a payload lies in, as a member of a job that is to have the same payload: {"content": {…}}, or {}.
-- Locks: none.
create or replace function fairmill.content_of(payload jsonb)
returns jsonb
language sql immutable
as $$
  select case when content_of.payload ? 'fairmill:stored'
    then jsonb_build_object('content', content_of.payload - 'fairmill:stored' - 'bytes') else '{}' end
$$;
