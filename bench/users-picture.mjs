// The waits of a crowd as a picture: for each number of users a bar from the median to the 95th percentile, of small communities and of the large one.
// Kept in the documentation by `npm run bench -- --only users --record`.
import { readFile, writeFile } from "node:fs/promises";
import { report } from "./report.mjs";

const PAGE = new URL("../docs/explanation/sticker-crowds.md", import.meta.url);
const PICTURE = new URL("../docs/images/sticker-crowds.svg", import.meta.url);
const MARKS = /(<!-- users: written by npm run bench -- --only users --record -->\n)[\s\S]*?(<!-- end of users -->)/;

const WIDTH = 760;
const LEFT = 120;
const RIGHT = 720;
const ROW = 74;
const TOP = 64;
const GROUPS = [
  { name: "small", label: "small communities", colour: "#0b7a55" },
  { name: "big", label: "the large community", colour: "#6b7280" },
];

export async function publishUsers(facts, measured) {
  const page = await readFile(PAGE, "utf8");
  if (!MARKS.test(page)) throw new Error("docs/explanation/sticker-crowds.md has lost the two marks of its table.");
  const { tables, samples, problems } = measured;
  const text = report({ facts, results: [{ tables, problems }] }).replaceAll(/^## /gm, "### ");
  await writeFile(
    PAGE,
    page.replace(MARKS, (_, begin, end) => `${begin}\n${text}\n${end}`),
  );
  await writeFile(PICTURE, drawUsers(samples));
}

/** @param {{ users: number, waits: Record<string, { p50?: number, p95?: number }>, usage: { name: string, used: number }[] }[]} samples */
function drawUsers(samples) {
  const most = Math.max(...samples.flatMap(({ waits }) => GROUPS.map(({ name }) => waits[name].p95 ?? 1)));
  const decades = Math.max(1, Math.ceil(Math.log10(most)));
  // From a second on, each decade the same width.
  const x = (wait) => LEFT + (Math.log10(Math.max(1, wait)) / decades) * (RIGHT - LEFT);
  const bottom = TOP + samples.length * ROW;
  const height = bottom + 64;
  const marks = Array.from({ length: decades + 1 }, (_, n) => 10 ** n);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="#374151">`,
    "<title>How long users wait for a sticker, by how many ask at once</title>",
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text x="16" y="28" font-size="14" font-weight="600" fill="#111827">From the request to the sticker: half of the users to 95 of 100</text>`,
    ...marks.map(
      (mark) =>
        `<path d="M${x(mark).toFixed(1)} ${TOP - 14}V${bottom}" stroke="#e5e7eb"/>` +
        `<text x="${x(mark).toFixed(1)}" y="${bottom + 18}" text-anchor="middle">${mark} s</text>`,
    ),
    ...samples.flatMap((sample, n) => row(sample, TOP + n * ROW, x)),
    ...GROUPS.map(({ label, colour }, n) => {
      const at = LEFT + n * 170;
      return `<rect x="${at}" y="${height - 28}" width="22" height="8" rx="4" fill="${colour}"/><text x="${at + 30}" y="${height - 20}">${label}</text>`;
    }),
    "</svg>",
    "",
  ].join("\n");
}

function row({ users, waits, usage }, top, x) {
  const fullest = usage.reduce((most, one) => (one.used > most.used ? one : most));
  return [
    `<text x="16" y="${top + 12}" font-weight="600" fill="#111827">${users.toLocaleString("en")} users</text>`,
    ...GROUPS.flatMap(({ name, colour }, n) => {
      const { p50, p95 } = waits[name];
      if (p50 === undefined) return [];
      const y = top + n * 16;
      const from = x(p50);
      const width = Math.max(8, x(p95) - from);
      // Beside the bar, or before it where there is no room behind.
      const isWide = from + width > RIGHT - 110;
      const at = isWide ? from - 8 : from + width + 8;
      return [
        `<rect x="${from.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="10" rx="5" fill="${colour}"/>`,
        `<text x="${at.toFixed(1)}" y="${y + 9}"${isWide ? ' text-anchor="end"' : ""}>${p50.toFixed(1)} to ${p95.toFixed(1)} s</text>`,
      ];
    }),
    `<text x="${LEFT}" y="${top + 46}" fill="#6b7280">fullest: ${fullest.name}, ${Math.round(100 * fullest.used)} %</text>`,
  ];
}
