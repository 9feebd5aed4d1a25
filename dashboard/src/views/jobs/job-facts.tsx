import type { JobDetail } from "../../data/contract";
import { count } from "../../format/numbers";
import { Facts } from "../../parts/panel";
import { Ago } from "../../parts/time";
import { link } from "../../shell/route";

const by = (name: string, value: string) => <a href={link(["jobs"], { [name]: value })}>{value}</a>;

/** What is known about a job, with links to the others like it. */
export function JobFacts({ job }: { job: JobDetail }) {
  return (
    <Facts
      facts={[
        ["Kind", by("kind", job.kind)],
        ["Queue", by("queue", job.queue)],
        [
          "Tenant",
          <a key="t" href={link(["tenants", job.tenant])}>
            {job.tenant}
          </a>,
        ],
        ...(job.key !== null ? ([["Key", by("key", job.key)]] as const) : []),
        ["Priority", String(job.priority)],
        ["Enqueued", <Ago key="c" at={job.createdAt} />],
        ...(job.expireAt ? ([["Expires", <Ago key="x" at={job.expireAt} />]] as const) : []),
        ...(job.worker !== null
          ? ([
              [
                "Worker",
                <a key="w" href={link(["workers", job.worker])}>
                  {job.worker}
                </a>,
              ],
            ] as const)
          : []),
        ...(job.batch !== null ? ([["Batch", by("batch", job.batch)]] as const) : []),
        ...(job.tick
          ? ([
              [
                "Schedule",
                <a key="s" href={link(["schedules"])}>
                  {job.tick.schedule}
                </a>,
              ],
            ] as const)
          : []),
        ...(job.credits
          ? ([["Credits", `${count(job.credits.amount)} ${job.credits.state} of ${job.credits.account}`]] as const)
          : []),
        ...(job.rerunOf !== null
          ? ([
              [
                "Repeats",
                <a key="r" href={link(["jobs", job.rerunOf])}>
                  {job.rerunOf}
                </a>,
              ],
            ] as const)
          : []),
        ...(job.reruns.length > 0
          ? ([
              [
                "Repeated by",
                job.reruns.slice(0, 5).map((id) => (
                  <a key={id} href={link(["jobs", id])}>
                    {id}{" "}
                  </a>
                )),
              ],
            ] as const)
          : []),
        ...(job.tags.length > 0 ? ([["Tags", job.tags.join(", ")]] as const) : []),
        ...(job.trace !== null ? ([["Trace", <code key="trace">{job.trace}</code>]] as const) : []),
        ...job.links.flatMap(({ label, url }) =>
          safeUrl(url)
            ? [
                [
                  label,
                  <a key={url} href={url} target="_blank" rel="noreferrer">
                    open
                  </a>,
                ] as const,
              ]
            : [],
        ),
      ]}
    />
  );
}

/** Links come from the user's own rules; whatever they say, only these schemes are followed. */
const safeUrl = (url: string): boolean => /^https?:\/\//i.test(url);
