// The end of a list: its notice, and the way to the next page. Lists are cut by key and never counted; back is the browser's.
import type { Notice as NoticeValue } from "../data/contract";
import { allOf, singular } from "../format/numbers";
import { route, withQuery } from "../shell/route";
import { Icon } from "./icon";
import { Notice } from "./states";

export const ListNotice = ({ notice }: { notice: NoticeValue | null }) =>
  notice && (
    <Notice tone="blocked" icon="schedules">
      {notice.message}
    </Notice>
  );

export function Pager({ next, shown, name }: { next: string | null; shown: number; name: string }) {
  const later = route.value.query.get("cursor") !== null;
  if (!next && !later) return <p class="pager quiet small">{shown > 0 && allOf(shown, name)}</p>;
  return (
    <nav class="pager" aria-label="Pages">
      {later && (
        <a class="button little" href={withQuery({})}>
          First page
        </a>
      )}
      <span class="quiet small">
        {shown === 1 ? `1 ${singular(name)}` : `${shown} ${name}`}
        {next ? ", more behind" : ", the last ones"}
      </span>
      {next && (
        <a class="button little push" href={withQuery({ cursor: next })} rel="next">
          Next page <Icon name="right" small />
        </a>
      )}
    </nav>
  );
}
