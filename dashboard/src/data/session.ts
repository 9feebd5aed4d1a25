// Who looks, and what they may do. The server decides; this only hides what it would refuse.
import { computed, signal } from "@preact/signals";
import { getJson, type Problem, send } from "./api";
import { learnServerTime } from "./clock";
import type { Me, Role } from "./contract";

export const me = signal<Me | null>(null);
export const sessionProblem = signal<Problem | null>(null);

const RANK: Record<Role, number> = { enqueue: 0, viewer: 1, operator: 2, admin: 3 };
export const may = (role: Role): boolean => RANK[me.value?.role ?? "viewer"] >= RANK[role];
export const narrowed = computed(() => me.value?.tenant ?? null);

export async function loadSession(): Promise<void> {
  const answer = await getJson<Me>("me");
  if (answer.ok) {
    learnServerTime(answer.value.now);
    me.value = answer.value;
    sessionProblem.value = null;
  } else sessionProblem.value = answer.problem;
}

export async function signIn(name: string, secret: string): Promise<Problem | null> {
  const answer = await send<Me>("POST", "session", { name, secret });
  if (!answer.ok) return answer.problem;
  me.value = answer.value;
  sessionProblem.value = null;
  return null;
}

export async function signOut(): Promise<void> {
  await send("DELETE", "session");
  me.value = null;
  sessionProblem.value = { status: 401, code: "", title: "", detail: "" };
}

/** Views that a credential of one tenant may not see. */
const WHOLE_HOUSE = new Set(["queues", "limits", "workers", "alerts", "audit", "money"]);
export const isHidden = (section: string): boolean => narrowed.value !== null && WHOLE_HOUSE.has(section);
