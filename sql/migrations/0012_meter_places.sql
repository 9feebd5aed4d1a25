-- Whoever locks meters is told where they stand, and whoever spends the rates of keys is told so too: functions that are made anew.
drop function if exists fairmill.lock_meters_v1(text, text, text[]);
drop function if exists fairmill.spend_keys_v1(text[], integer, integer, bigint, text, timestamptz);
