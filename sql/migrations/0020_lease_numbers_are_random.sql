-- A lease number is raised by a random amount (next_lease_v1), so that no claim repeats the number of one that was undone: it needs 64 bits.
-- Numbers given before stay as they are: whoever runs a job now goes on under its own.
set local lock_timeout = '10s';

alter table fairmill.job alter column lease_no type bigint;
alter table fairmill.job_history alter column lease_no type bigint;
alter table fairmill.step alter column lease_no type bigint;

-- How often a job was released in a row, when and why the last time: one that is given back again and again waits longer each time.
alter table fairmill.job add column released jsonb;

drop function if exists fairmill.begin_sends_v1(text, bigint[], integer[], text[], boolean[]);
drop function if exists fairmill.claim_gated_v1(text, text[], smallint[], text[], bigint[], integer[], text[], integer, boolean, bigint);
drop function if exists fairmill.claim_lanes_v1(text, text[], smallint[], text[], bigint[], integer[], text[], integer, boolean, bigint);
drop function if exists fairmill.claim_v1(text, text, integer, integer, text[], float8);
drop function if exists fairmill.complete_v1(text, bigint, integer, jsonb);
drop function if exists fairmill.crash_v1(smallint, integer, text, timestamptz, timestamptz);
drop function if exists fairmill.failure_v1(smallint, integer, text, timestamptz, timestamptz, text, jsonb);
drop function if exists fairmill.note_sends_v1(text, bigint[], integer[], text[], jsonb);
drop function if exists fairmill.pause_step_v1(text, bigint, integer, text, integer, text, float8, integer);
drop function if exists fairmill.progress_v1(text, bigint[], integer[], jsonb);
drop function if exists fairmill.settle_v1(text, bigint[], integer[], text[], jsonb);
drop function if exists fairmill.settle_waiting_v1(text, bigint[], integer[], text[], jsonb);
drop function if exists fairmill.store_step_v1(text, bigint, integer, text, integer, jsonb, float8, integer, bigint);
drop function if exists fairmill.wait_until_v1(bigint, integer, text[], timestamptz);
drop function if exists fairmill.was_settled_v1(text, bigint, integer, text);
