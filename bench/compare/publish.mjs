// Keeps the record of a comparison in the documentation: the tables between two marks of the page, and the picture beside it.
import { readFile, writeFile } from "node:fs/promises";
import { report } from "../report.mjs";
import { drawSteady } from "./picture.mjs";

const PAGE = new URL("../../docs/explanation/benchmarks.md", import.meta.url);
const PICTURE = new URL("../../docs/images/steady.svg", import.meta.url);
const MARKS = /(<!-- peers: written by npm run bench -- --peers --record -->\n)[\s\S]*?(<!-- end of peers -->)/;

export async function publishComparison(facts, compared) {
  const page = await readFile(PAGE, "utf8");
  if (!MARKS.test(page)) throw new Error("docs/explanation/benchmarks.md has lost the two marks of the peers' table.");
  const { tables, samples, problems } = compared;
  // The page has its own headings, one level deeper.
  const text = report({ facts, results: [{ tables, problems }] }).replaceAll(/^## /gm, "### ");
  await writeFile(
    PAGE,
    page.replace(MARKS, (_, begin, end) => `${begin}\n${text}\n${end}`),
  );
  if (samples.some(({ scenario }) => scenario.startsWith("steady"))) await writeFile(PICTURE, drawSteady(samples));
}
