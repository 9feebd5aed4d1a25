-- Whenever a page of an index is full, PostgreSQL compares all its entries with their neighbours, to put equal ones together. In these there
-- are none worth it: an id has one entry for each version of its row, and the index of the lanes ends with the id. Not to look saves a
-- claim and a settle a microsecond each.
set local lock_timeout = '10s';

alter index fairmill.job_pkey set (deduplicate_items = off);
alter index fairmill.job_slot set (deduplicate_items = off);
alter index fairmill.job_ready set (deduplicate_items = off);
