// Pools for tests. PostgreSQL may still tell a connection that its database is dropped after `end()` has resolved: a pool without a listener for
// errors turns that into an uncaught exception, which fails the whole run. The same goes for one that is checked out (quiet.ts).
import pg from "pg";

export const openPool = (config: pg.PoolConfig): pg.Pool =>
  new pg.Pool(config).on("error", () => {}).on("connect", (client) => client.on("error", () => {}));
