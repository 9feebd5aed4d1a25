// The frame of a screen: title, what it is, its actions, its JSON twin and the command that says the same.
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { apiUrl } from "../data/api";
import { CopyButton } from "../parts/copy";
import { Icon } from "../parts/icon";

export interface PageProps {
  readonly title: string;
  readonly heading?: ComponentChildren;
  readonly about?: ComponentChildren;
  /** Path below api/v1 that answers what this screen shows. */
  readonly json: string;
  readonly cli: string;
  readonly actions?: ComponentChildren;
  readonly back?: { readonly href: string; readonly name: string };
  readonly children: ComponentChildren;
}

export function Page(props: PageProps) {
  useEffect(() => {
    document.title = `${props.title} · Fairmill`;
  }, [props.title]);
  return (
    <>
      <div class="page-head">
        <div class="title">
          {props.back && (
            <a class="small" href={props.back.href}>
              ← {props.back.name}
            </a>
          )}
          <h1>{props.heading ?? props.title}</h1>
          {props.about && <p>{props.about}</p>}
        </div>
        <div class="actions">
          {props.actions}
          <span class="row twin">
            <CopyButton text={props.cli} label="Copy as CLI" icon="terminal" />
            <a
              class="button ghost icon-only"
              href={apiUrl(props.json)}
              target="_blank"
              rel="noreferrer"
              aria-label="The same as JSON"
              title="The same as JSON"
            >
              <Icon name="json" />
            </a>
          </span>
        </div>
      </div>
      {props.children}
    </>
  );
}
