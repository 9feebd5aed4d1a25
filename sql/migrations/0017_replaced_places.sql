-- It is told of the place that the newer job has, and answers what became of the older one.
drop function if exists fairmill.replace_waiting_v1(bigint, text, jsonb, text, text, smallint, timestamptz, interval, float8);
