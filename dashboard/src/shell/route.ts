// Where we are: a path and filters behind the `#`, so that the dashboard works under any address without help of the server, and names
// of tenants stay out of the logs of proxies. Every screen, filter and selection that matters is in it.

import { computed, signal } from "@preact/signals";
import { segment } from "../data/segment";

const readHash = (): string => location.hash.replace(/^#/, "") || "/";
const hash = signal(readHash());
addEventListener("hashchange", () => {
  hash.value = readHash();
});

export const route = computed(() => {
  const mark = hash.value.indexOf("?");
  const path = mark < 0 ? hash.value : hash.value.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? "" : hash.value.slice(mark + 1));
  return { parts: path.split("/").filter(Boolean).map(decode), query };
});

/** An address that was cut or typed by hand may not be decodable: then it stands for itself. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export type Query = Readonly<Record<string, string | number | null | undefined>>;

export function link(parts: readonly string[], query: Query = {}): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== "") words.append(name, String(value));
  const tail = words.toString();
  return `#/${parts.map(segment).join("/")}${tail ? `?${tail}` : ""}`;
}

export const go = (address: string): void => {
  location.hash = address.replace(/^#/, "");
};

/** The same screen with other filters; null takes one off. A change of filter begins at the first page. */
export function withQuery(changes: Query): string {
  const { parts, query } = route.value;
  const next: Record<string, string | number | null | undefined> = Object.fromEntries(query);

  delete next["cursor"];
  return link(parts, { ...next, ...changes });
}
