// Keeps the record of a comparison in the documentation: the tables between two marks of the page, and the picture beside it.
import { readFile, writeFile } from "node:fs/promises";
import { report } from "../report.mjs";
import { median } from "../statistics.mjs";
import { drawSteady } from "./picture.mjs";

const PAGE = new URL("../../docs/explanation/benchmarks.md", import.meta.url);
const README = new URL("../../README.md", import.meta.url);
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
  await publishDrain(facts, samples);
}

const ROW = /^\| drain, one process.*$/m;
const SOURCE = /^<!-- drain: .* -->\n[\s\S]*?<!-- end of drain -->$/m;
const COLUMNS = {
  Fairmill: "Fairmill",
  "pg-boss": "pg-boss",
  "graphile-worker": "graphile-worker",
  BullMQ: "BullMQ on Redis",
};

/** The row of the README, if it was measured in full size. A queue that did not run has no figure. */
async function publishDrain(facts, samples) {
  const rateOf = (system) => {
    const taken = samples.find((one) => one.scenario === "drain, 1 process" && one.system === system)?.samples;
    return taken && median(taken.map(({ figures }) => figures["drain, 1 process, jobs/s"]));
  };
  const rates = Object.values(COLUMNS).map(rateOf);
  const others = rates.slice(1).filter((rate) => rate !== undefined);
  if (rates[0] === undefined || others.length === 0 || facts.Sizes.includes("--quick")) return;
  const page = await readFile(README, "utf8");
  if (!ROW.test(page) || !SOURCE.test(page)) throw new Error("README.md has lost the row of the drain, or its source.");
  const shown = rates.map((rate) =>
    rate === undefined ? "not measured" : (Math.round(rate / 100) * 100).toLocaleString("en"),
  );
  const ratio = (rates[0] / Math.max(...others)).toFixed(1);
  const source = `The drain is of one run on PostgreSQL ${facts.PostgreSQL.split(",")[0]}, beside each other: a ratio of ${ratio} to the fastest of the others that ran.`;
  await writeFile(
    README,
    page
      .replace(
        ROW,
        `| drain, one process, ${facts.Machine.split(" ")[0]} cores, jobs/s in one run | ${shown.join(" | ")} |`,
      )
      .replace(
        SOURCE,
        `<!-- drain: written by npm run bench -- --peers --record -->\n${source}\n<!-- end of drain -->`,
      ),
  );
}
