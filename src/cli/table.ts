// A table for a terminal: columns in line, no row wider than the terminal, long cells cut.
import { fitTo, oneLine, widthOf } from "./text.js";

/** Longer cells are cut even where the width is not limited: an error text can have thousands of characters. */
const CELL_WIDTH_MAX = 120;
const CELL_WIDTH_MIN = 4;
const GAP = "  ";

/** `paint` may colour a finished cell of the column with that name. */
export function tableOf(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  columnsMax: number,
  paint: (heading: string, cell: string) => string = (_, cell) => cell,
): string {
  const cells = rows.map((row) => row.map(oneLine));
  const natural = headings.map((heading, i) =>
    Math.min(CELL_WIDTH_MAX, Math.max(widthOf(heading), ...cells.map((row) => widthOf(row[i] ?? "")))),
  );
  const widths = shrink(natural, columnsMax - GAP.length * (headings.length - 1));
  const lineOf = (row: readonly string[]) => row.map((cell, i) => fitTo(cell, widths[i]!));
  return [
    lineOf(headings).join(GAP).trimEnd(),
    ...cells.map((row) =>
      lineOf(row)
        .map((cell, i) => paint(headings[i]!, cell))
        .join(GAP)
        .trimEnd(),
    ),
  ].join("\n");
}

/** Takes from the widest column, one at a time: short columns stay whole as long as possible. */
function shrink(natural: readonly number[], sumMax: number): number[] {
  const widths = [...natural];
  let excess = widths.reduce((sum, width) => sum + width, 0) - sumMax;
  while (excess-- > 0) {
    const widest = widths.indexOf(Math.max(...widths));
    if (widths[widest]! <= CELL_WIDTH_MIN) break;
    widths[widest]!--;
  }
  return widths;
}
