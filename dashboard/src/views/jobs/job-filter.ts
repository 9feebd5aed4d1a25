// The filter of the list of jobs: names as the API has them, and as the command line has them.

import { cli } from "../../parts/copy";
import { route } from "../../shell/route";

export const JOB_FACETS = [
  "state",
  "queue",
  "kind",
  "tenant",
  "key",
  "batch",
  "errorCode",
  "errorText",
  "createdSince",
  "createdUntil",
  "endedSince",
  "endedUntil",
  "payload",
  "tag",
] as const;
export type JobFacet = (typeof JOB_FACETS)[number];

const OPTIONS: Partial<Record<JobFacet, string>> = {
  state: "state",
  queue: "queue",
  kind: "kind",
  tenant: "tenant",
  batch: "batch",
  errorCode: "error-code",
  errorText: "error-text",
  endedSince: "since",
  endedUntil: "until",
  key: "key",
  tag: "tag",
  payload: "payload",
};

export type ChosenFilter = Partial<Record<JobFacet, string>>;

export function chosenFilter(): ChosenFilter {
  const chosen: ChosenFilter = {};
  for (const name of JOB_FACETS) {
    const value = route.value.query.get(name);
    if (value) chosen[name] = value;
  }
  return chosen;
}

export const jobsCommand = (command: readonly string[], filter: ChosenFilter): string =>
  cli(
    command,
    Object.fromEntries(
      Object.entries(filter).flatMap(([name, value]) =>
        OPTIONS[name as JobFacet] ? [[OPTIONS[name as JobFacet], value]] : [],
      ),
    ),
  );

/** For a bulk action the payload is an object. */
export function bulkFilter(filter: ChosenFilter): Record<string, unknown> {
  const { payload, ...rest } = filter;
  if (!payload) return rest;
  try {
    return { ...rest, payload: JSON.parse(payload) as unknown };
  } catch {
    return { ...rest, payload };
  }
}
