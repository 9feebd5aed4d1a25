// `npm run screenshots`: every view of the dashboard over real data, as PNG in docs/images. Starts a PostgreSQL, workers under a supervisor and `fairmill serve`, lets customers
// work for some minutes (--minutes=5), and looks. Names as arguments take only those; --address=http://… looks at a server that runs already; --width=375, --dark; --keep leaves it running.
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createJiti } from "jiti";
import { ensureDashboard } from "./dashboard-build.mjs";
import { ensureBuilt, ensureInstalled, root } from "./ensure.mjs";

ensureInstalled();
ensureBuilt();
ensureDashboard();
const BYTES_MAX = 200_000;
/** A long list says no more than its beginning. */
const HEIGHT_MAX = 1_000;
const DARK = ["now", "tenants", "flow", "job-waiting"];
const wanted = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const option = (name, fallback) =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.split("=")[1] ?? fallback;
const folder = option("out", join(root, "docs", "images"));
const width = Number(option("width", 1280));
const minutes = Number(option("minutes", 5));
mkdirSync(folder, { recursive: true });
const jiti = createJiti(import.meta.url);
const { openBrowser } = await jiti.import(join(root, "test", "dashboard", "fixture", "browser.ts"));

const ends = [];
let heavy = 0;
try {
  const address = option("address") ?? (await demo());
  const ask = async (method, path, body) => {
    const response = await fetch(`${address}/api/v1/${path}`, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.status === 204 ? undefined : response.json();
  };
  await shoot(address, await screensOf(ask));
  if (process.argv.includes("--keep")) {
    console.log(`${address} until Ctrl-C`);
    await new Promise((resolve) => process.once("SIGINT", resolve).once("SIGTERM", resolve));
  }
} finally {
  for (const end of ends.toReversed()) await end();
}
process.exit(heavy > 0 ? 1 : 0);

/** The address of a server over a few minutes of real work. */
async function demo() {
  const [{ createClient }, { startEmbedded }, traffic] = await Promise.all([
    import("../dist/index.js"),
    import("../dist/embedded/index.js"),
    import("./demo/traffic.mjs"),
  ]);
  const home = mkdtempSync(join(tmpdir(), "fairmill-screenshots-"));
  chmodSync(home, 0o711);
  ends.push(() => rmSync(home, { recursive: true, force: true }));
  const postgres = await startEmbedded({ dataDir: join(home, "postgres"), durable: false });
  ends.push(() => postgres.stop());
  const client = createClient({ databaseUrl: postgres.url, connectionsMax: 4 });
  ends.push(() => client.close());
  await client.migrate();
  await traffic.settle(client);
  await command(postgres.url, ["supervise"], undefined, "1.4.1");
  const served = await command(postgres.url, ["serve", "--port", "0", "--json"], (line) => line.includes('"url"'));
  const { url } = JSON.parse(served);
  // In the middle of it comes another version, with one worker.
  const deploy = setTimeout(() => void command(postgres.url, ["work"], undefined, "1.4.2"), minutes * 36_000);
  ends.push(() => clearTimeout(deploy));
  // Customers go on while the pictures are taken.
  let isOver = false;
  const customers = traffic.run(
    client,
    minutes,
    (text) => console.log(text),
    () => isOver,
  );
  ends.push(() => {
    isOver = true;
    return customers;
  });
  await Promise.race([customers, new Promise((resolve) => setTimeout(resolve, minutes * 60_000))]);
  await traffic.act(async (method, path, body) => {
    const response = await fetch(`${url}/api/v1/${path}`, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    return response.json();
  });
  return url;
}

/** Starts a command of Fairmill beside us; resolves with the line that says it is there. */
async function command(databaseUrl, args, isThere, deployment = "") {
  const config = join(root, "scripts", "demo", "fairmill.config.mjs");
  const child = spawn(process.execPath, [join(root, "dist", "cli", "main.js"), ...args, "--config", config], {
    env: { ...process.env, DATABASE_URL: databaseUrl, FAIRMILL_LOG_LEVEL: "error", FAIRMILL_DEPLOYMENT: deployment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  // Also where this process ends at once, as the server's handling of a signal may make it.
  process.once("exit", () => child.kill("SIGTERM"));
  ends.push(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  if (!isThere) return child.stdout.resume();
  let text = "";
  for await (const chunk of child.stdout) {
    text += chunk;
    const line = text.split("\n").find(isThere);
    if (line) return line;
  }
  throw new Error(`fairmill ${args[0]} ended before it was there.`);
}

/** Every screen with an example of what it shows. */
async function screensOf(ask) {
  const first = async (path, fits = () => true) => (await ask("GET", path)).items.find(fits);
  const list = [
    ...[
      "now",
      "jobs",
      "bulk",
      "flows",
      "schedules",
      "queues",
      "approvals",
      "tenants",
      "limits",
      "workers",
      "outbox",
      "money",
      "errors",
      "alerts",
      "audit",
    ].map((name) => ({ name, hash: `#/${name}` })),
    { name: "tenant", hash: "#/tenants/globex" },
    { name: "account", hash: "#/money/user-2" },
  ];
  const add = (name, found, hashOf) => found && list.push({ name, hash: hashOf(found) });
  add(
    "job-waiting",
    (await first("jobs?state=ready&tenant=umbrella&kind=mail.send")) ??
      (await first("jobs?state=ready")) ??
      (await first("jobs?state=blocked")),
    ({ id }) => `#/jobs/${id}`,
  );
  add("job-done", await first("jobs?state=done&kind=sticker.draw"), ({ id }) => `#/jobs/${id}`);
  add(
    "job-dead",
    (await first("jobs?state=dead&kind=rows.import")) ?? (await first("jobs?state=dead")),
    ({ id }) => `#/jobs/${id}`,
  );
  add("bulk-one", await first("bulk"), ({ id }) => `#/bulk/${id}`);
  const flow = await first("flows", ({ tenant }) => tenant === "hooli");
  add("flow", flow, ({ id }) => `#/flows/${id}`);
  add("flow-gantt", flow, ({ id }) => `#/flows/${id}?as=gantt`);
  add("worker", await first("workers?state=alive"), ({ id }) => `#/workers/${encodeURIComponent(id)}`);
  add("message", (await first("outbox?status=unknown")) ?? (await first("outbox")), ({ id }) => `#/outbox/${id}`);
  return list.map((screen) =>
    minutes <= 15 && ["now", "tenants", "workers"].includes(screen.name)
      ? { ...screen, hash: `${screen.hash}?span=5m` }
      : screen,
  );
}

async function shoot(address, screens) {
  const browser = await openBrowser();
  ends.push(() => browser.close());
  const isDarkAlso = (name) => DARK.includes(name) || process.argv.includes("--dark");
  const shots = screens
    .filter(({ name }) => wanted.length === 0 || wanted.includes(name))
    .flatMap((screen) => [
      { ...screen, scheme: "light", file: `dashboard-${screen.name}.png` },
      ...(isDarkAlso(screen.name) ? [{ ...screen, scheme: "dark", file: `dashboard-${screen.name}-dark.png` }] : []),
    ]);
  for (const { hash, scheme, file } of shots) {
    const page = await browser.newPage({
      viewport: { width, height: 860 },
      colorScheme: scheme,
      timezoneId: "UTC",
      locale: "en-GB",
      reducedMotion: "reduce",
    });
    await page.goto(`${address}/${hash}`);
    await page.waitForFunction(() => document.querySelector("main h1") && !document.querySelector(".bone"));
    await page.evaluate(() => document.fonts.ready);
    // What needs a person is told by the sidebar, a little later than the screen.
    await page.waitForSelector(".nav-link .count", { timeout: 3_000 }).catch(() => {});
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    await page.setViewportSize({ width, height: Math.min(HEIGHT_MAX, Math.max(560, height)) });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const path = join(folder, file);
    await page.screenshot({ path });
    await page.close();
    const { size } = statSync(path);
    if (size > BYTES_MAX) heavy += 1;
    console.log(`${file}  ${Math.round(size / 1000)} kB${size > BYTES_MAX ? "  too large" : ""}`);
  }
}
