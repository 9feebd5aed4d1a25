-- The lease number of the next claim of a job: the claims so far, plus this one, times 2^28, less a random number below
-- 2^28.
-- Higher than every number before it, and not to be had a second time: a claim that a crash or a fail-over undid, or a
-- job whose id comes again on a timeline that went back, gets another number, with the odds of 2^28 to 1. The claims
-- are counted by it, too: lease_no / 2^28, rounded up. 2^25 of them stay below 2^53, which is as far as JavaScript and
-- JSON count: one each second for a year.
--   lease_no  of the job; 0: it was never claimed
-- Without settings of its own, so that it is inlined.
create or replace function fairmill.next_lease(lease_no bigint) returns bigint
language sql volatile parallel restricted
return (((lease_no + 536870911) >> 28) << 28) - pg_catalog.floor(pg_catalog.random() * 268435456)::bigint;
