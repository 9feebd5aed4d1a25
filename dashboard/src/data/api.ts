// Calls of the JSON API. Its address is relative to the page, so that the dashboard works wherever it is mounted. A failure is a
// Problem: what the server said, or that it could not be asked.
import { learnServerTime } from "./clock";

export interface Problem {
  /** 0: the server did not answer. */
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
}

export type Answer<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem };

const BASE = new URL("api/v1/", document.baseURI);

/** The address of the JSON twin of a screen. */
export const apiUrl = (path: string): string => new URL(path, BASE).href;

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<Answer<T>> {
  return call<T>(path, { ...(signal ? { signal } : {}) });
}

/** Without a body none is sent. */
export async function send<T>(method: "POST" | "PUT" | "DELETE", path: string, body?: unknown): Promise<Answer<T>> {
  if (body === undefined) return call<T>(path, { method });
  return call<T>(path, { method, body: JSON.stringify(body), headers: { "content-type": "application/json" } });
}

/** As the holder of a token, whoever else this browser is signed in as. */
export const asHolder = <T>(token: string, path: string, body?: unknown): Promise<Answer<T>> => {
  const authorization = `Bearer ${token}`;
  if (body === undefined) return call<T>(path, { headers: { authorization } });
  const headers = { authorization, "content-type": "application/json" };
  return call<T>(path, { method: "POST", body: JSON.stringify(body), headers });
};

async function call<T>(path: string, init: RequestInit): Promise<Answer<T>> {
  try {
    const response = await fetch(apiUrl(path), {
      credentials: "same-origin",
      cache: "no-cache",
      ...init,
      headers: { accept: "application/json", ...init.headers },
    });
    learnServerTime(response.headers.get("date"));
    const body: unknown = await response.json().catch(() => null);
    if (response.ok && (body !== null || response.status === 204)) return { ok: true, value: body as T };
    return { ok: false, problem: problemOf(response.status, body) };
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    return { ok: false, problem: { status: 0, code: "", title: "", detail: "" } };
  }
}

function problemOf(status: number, body: unknown): Problem {
  const said = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  const word = (name: string): string => (typeof said[name] === "string" ? said[name] : "");
  return { status, code: word("code"), title: word("title"), detail: word("detail") };
}
