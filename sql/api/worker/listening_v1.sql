-- A worker says whether it wants notifications. Busy workers say no: they look anyway.
-- Locks: 4 worker (the caller's own).
create or replace function fairmill.listening_v1(worker_id text, wanted boolean)
returns void
language sql
as $$
  update fairmill.worker w set listening = wanted where w.id = worker_id and w.listening <> wanted
$$;
