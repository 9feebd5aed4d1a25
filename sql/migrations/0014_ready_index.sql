-- The index of the lanes ends with the id, so no two of its entries are equal. PostgreSQL does not know that: whenever a page is full it
-- compares all entries of it with their neighbours, to put equal ones together, and finds none.
set local lock_timeout = '10s';

alter index fairmill.job_ready set (deduplicate_items = off);
