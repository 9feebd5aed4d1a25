// `npm run screenshots`: every view of the dashboard with made-up data, as PNG in docs/images. Names as arguments take only those.
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { createJiti } from "jiti";
import { ensureDashboard } from "./dashboard-build.mjs";
import { ensureInstalled, root } from "./ensure.mjs";

ensureInstalled();
ensureDashboard();
const jiti = createJiti(import.meta.url);
const load = (name) => jiti.import(join(root, "test", "dashboard", "fixture", `${name}.ts`));
const [{ Fixture }, { openBrowser }, { SCREENS }, { NOW }] = await Promise.all(
  ["server", "browser", "screens", "dice"].map(load),
);

const BYTES_MAX = 200_000;
/** A long list says no more than its beginning. */
const HEIGHT_MAX = 900;
const DARK = ["now", "tenants", "flow", "job-waiting"];
const wanted = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const option = (name, fallback) =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.split("=")[1] ?? fallback;
const folder = option("out", join(root, "docs", "images"));
const width = Number(option("width", 1280));
const mode = option("mode", "busy");
mkdirSync(folder, { recursive: true });

const fixture = new Fixture(join(root, "dist", "dashboard"));
fixture.mode = mode;
const address = await fixture.start();
const browser = await openBrowser();
const shots = SCREENS.filter(({ name }) => wanted.length === 0 || wanted.includes(name)).flatMap((screen) => [
  { ...screen, scheme: "light", file: `dashboard-${screen.name}.png` },
  ...(DARK.includes(screen.name) || process.argv.includes("--dark")
    ? [{ ...screen, scheme: "dark", file: `dashboard-${screen.name}-dark.png` }]
    : []),
]);
let heavy = 0;
for (const { hash, shows, scheme, file } of shots) {
  const page = await browser.newPage({
    viewport: { width, height: 860 },
    colorScheme: scheme,
    timezoneId: "UTC",
    locale: "en-GB",
    reducedMotion: "reduce",
  });
  await page.clock.setFixedTime(NOW);
  await page.goto(`${address}${hash}`);
  if (mode === "busy") await page.getByText(shows).first().waitFor();
  await page.waitForFunction(() => document.querySelector("main") && !document.querySelector(".bone"));
  await page.evaluate(() => document.fonts.ready);
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  const path = join(folder, file);
  await page.setViewportSize({ width, height: Math.min(HEIGHT_MAX, Math.max(560, height)) });
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await page.screenshot({ path });
  await page.close();
  const { size } = statSync(path);
  if (size > BYTES_MAX) heavy += 1;
  console.log(`${file}  ${Math.round(size / 1000)} kB${size > BYTES_MAX ? "  too large" : ""}`);
}
await browser.close();
await fixture.stop();
if (fixture.refused.length > 0) console.error(`Not in the contract:\n${fixture.refused.join("\n")}`);
process.exit(heavy > 0 || fixture.refused.length > 0 ? 1 : 0);
