// The name of a worker incarnation: host, process, start, and dice. Every process, and every new life of a process, has its own.

export function newWorkerId(facts: { host: string; pid: number; nowMs: number; random: number }): string {
  const host = facts.host.replace(/[^A-Za-z0-9.-]/g, "").slice(0, 60) || "host";
  const dice = Math.floor(facts.random * 36 ** 5)
    .toString(36)
    .padStart(5, "0");
  return `${host}-${facts.pid}-${Math.floor(facts.nowMs).toString(36)}-${dice}`;
}
