-- A row of job is written again at every step, and each time its indexes get one more entry. In a unique index those are the only entries
-- with the same key: to pack them together does not pay, and trying to costs a claim and a settle a microsecond each.
alter index fairmill.job_pkey set (deduplicate_items = off);
alter index fairmill.job_slot set (deduplicate_items = off);
