// How tools ask: requests to the JSON API, of a handler in this process or of a server elsewhere. Roles and tenants are checked there.

export interface Api {
  /** The answer as it came; refusals of the API are answers, too. */
  ask(method: "GET" | "POST", path: string, body?: unknown, signal?: AbortSignal): Promise<ApiAnswer>;
}

export interface ApiAnswer {
  readonly ok: boolean;
  readonly value: unknown;
}

/** `fetch` of a handler or of the platform; `base` is the address of the server; `token` says who asks. */
export function apiOver(fetch: (request: Request) => Promise<Response>, base: string, token: string): Api {
  return {
    ask: async (method, path, body, signal) => {
      const request = new Request(new URL(`api/v1${path}`, base.endsWith("/") ? base : `${base}/`), {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          accept: "application/json",
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      });
      const response = await fetch(request);
      const text = await response.text();
      return { ok: response.ok, value: text === "" ? null : parsed(text, response.status) };
    },
  };
}

/** A proxy in between may answer with a page. */
function parsed(text: string, status: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { status, detail: `The answer is no JSON: ${text.slice(0, 200)}` };
  }
}

export const withQuery = (path: string, query: Readonly<Record<string, unknown>>): string => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(
    given.map(([name, value]) => [name, String(value)] as [string, string]),
  ).toString();
  return search === "" ? path : `${path}?${search}`;
};

export const part = (value: string): string => encodeURIComponent(value);
