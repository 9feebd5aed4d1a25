// How functions run, said once for all of them instead of in every file.
//
// Every function looks names up in the catalog alone. Public functions (name_v1) also pin their plans: a statement is planned once, for any
// arguments, along the index that it was written for, whatever the statistics say. Inner functions run under the settings of the public
// function that was called, so they need none of their own, and a call from one to the other costs nothing for them.
// A function that needs another setting says so in its file; level_v1 has none, so that it is inlined.

/** `names` of our functions: those that an operator keeps in the schema are left alone. */
export const functionSettings = (names: Iterable<string>): string => `do $settings$
declare
  v_function record;
begin
  for v_function in
    select p.oid::regprocedure as signature, p.proname ~ '_v[0-9]+$' and l.lanname = 'plpgsql' as is_public
    from pg_proc p join pg_language l on l.oid = p.prolang
    where p.pronamespace = 'fairmill'::regnamespace and l.lanname in ('sql', 'plpgsql') and p.prosqlbody is null
      and p.proname = any ('{${[...names].join(",")}}')
  loop
    execute format('alter function %s set search_path = pg_catalog, pg_temp', v_function.signature);
    if v_function.is_public then
      execute format('alter function %s set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off '
        'set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off', v_function.signature);
    end if;
  end loop;
end
$settings$`;
