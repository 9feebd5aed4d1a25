// Data, or what stands in for it. Old data stays visible under a failure.
import type { ComponentChildren } from "preact";
import type { Resource } from "../data/resource";
import { Empty, Failed, Loading } from "./states";

const NOT_WIRED = 501;

export function Loaded<T>(props: {
  readonly from: Resource<T>;
  readonly rows?: number;
  /** What is missing where this server does not record it. */
  readonly unrecorded?: string;
  readonly children: (data: T) => ComponentChildren;
}) {
  const { data, problem, reload } = props.from;
  if (problem?.status === NOT_WIRED)
    return (
      <Empty icon="dots" title="Not recorded here">
        {props.unrecorded ?? "This server was started without the part that records it."}
      </Empty>
    );
  return (
    <>
      {problem && <Failed problem={problem} retry={reload} />}
      {data !== undefined ? props.children(data) : problem ? null : <Loading rows={props.rows ?? 6} />}
    </>
  );
}
