// A table from a list of columns. Wide ones scroll inside their frame, never the page.
import type { ComponentChildren } from "preact";

export interface Column<Row> {
  readonly name: string;
  readonly num?: boolean;
  /** Takes the width that the others leave, and cuts its text there. */
  readonly rest?: boolean;
  /** Not shown: read out only. */
  readonly unseen?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
}

export interface TableProps<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly (Column<Row> | null | false | undefined)[];
  readonly keyOf: (row: Row) => string;
  readonly cursor?: string | null;
  readonly selected?: ReadonlySet<string>;
}

export function Table<Row>({ label, rows, columns, keyOf, cursor, selected }: TableProps<Row>) {
  const shown = columns.filter((column): column is Column<Row> => Boolean(column));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <div class="table-frame" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {shown.map((column) => (
              <th key={column.name} scope="col" class={column.num ? "num" : column.rest ? "rest" : undefined}>
                {column.unseen ? <span class="unseen">{column.name}</span> : column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const key = keyOf(row);
            return (
              <tr
                key={key}
                data-row={key}
                class={cursor === key ? "cursor" : undefined}
                data-selected={selected?.has(key) || undefined}
              >
                {shown.map((column) => (
                  <td
                    key={column.name}
                    class={column.num ? "num" : column.rest ? "rest" : undefined}
                    data-label={column.name}
                    data-unseen={column.unseen || undefined}
                  >
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

export const Clip = ({ text, long, href }: { text: string | null | undefined; long?: boolean; href?: string }) => {
  const name = long ? "clip long" : "clip";
  const shown = text === null || text === undefined || text === "" ? "–" : text;
  return href ? (
    <a class={name} href={href} title={shown}>
      {shown}
    </a>
  ) : (
    <span class={name} title={shown}>
      {shown}
    </span>
  );
};
