-- It can be told of which gate. Beside the one that cannot, a call without arguments would find the old one.
drop function if exists fairmill.count_running_v1();
