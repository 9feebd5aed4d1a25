-- Takes over what transactions of callers told about one kind (report_key_limits_v1): what was told last comes into
-- force, the rest is forgotten.
-- One kind a transaction: a change locks what others take in another order. Result: the kind; null: there is nothing to
-- take over.
-- Locks: 2 report, then as change_key_limits.
create or replace function fairmill.adopt_key_limits()
returns text
language plpgsql
as $$
#variable_conflict use_column
declare
  v_kind text;
  v_ids  bigint[];
  v_last fairmill.key_limit_report;
begin
  select t.kind into v_kind from fairmill.key_limit_report t where not t.adopted
    order by t.kind limit 1 for update skip locked;
  if v_kind is null then
    return null;
  end if;
  v_ids := array(select t.id from fairmill.key_limit_report t where t.kind = v_kind
    and not t.adopted for update skip locked);
  select * into v_last from fairmill.key_limit_report t where t.id = any (v_ids) order by t.reported_at desc,
    t.id desc limit 1;
  perform fairmill.change_key_limits(v_last);
  delete from fairmill.key_limit_report t where t.id = any (v_ids);
  return v_kind;
end
$$;
