// The tables of the settings page.
import { codeIn, documentAt, sectionOf, tableIn } from "./documents.js";

/** The first column of the first table below a heading. */
export const settingsUnder = (heading: string) =>
  tableIn(sectionOf(documentAt("docs/reference/settings.md"), heading)).map(([name]) => codeIn(name!)[0]!);
