// Open dashboards hear of a change at the same moment, and ask the same: the database is asked once for all of them. An answer is shared only while it
// is on its way, so that a caller is never told what was true before another one's question began.
import type { Backend } from "./backend.js";
import type { Call } from "./route.js";

const underWay = new WeakMap<Backend, Map<string, Promise<unknown>>>();

/** What it answers may depend on the tenant and the query alone: not on who asks. */
export function together<Query, Answer>(
  name: string,
  handle: (call: Call<Query, undefined>) => Promise<Answer>,
): (call: Call<Query, undefined>) => Promise<Answer> {
  return (call) => {
    const asked = underWay.get(call.http) ?? new Map<string, Promise<unknown>>();
    underWay.set(call.http, asked);
    const key = JSON.stringify([name, call.tenant ?? null, call.query]);
    const known = asked.get(key) as Promise<Answer> | undefined;
    if (known !== undefined) return known;
    const answer = handle(call).finally(() => asked.delete(key));
    asked.set(key, answer);
    return answer;
  };
}
