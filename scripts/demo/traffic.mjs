// What customers of the screenshots do: settings first, then a few minutes of traffic with a flood of one tenant in its middle. Real calls of the library alone.
import { setTimeout as sleep } from "node:timers/promises";
import { chat, draw, hooks, importRows, invoice, mail, pack, report, upscale, video } from "./fairmill.config.mjs";

const WORDS = [
  "a sleepy fox",
  "a brave snail",
  "two owls at tea",
  "a cat in space",
  "a frog with an umbrella",
  "the moon, laughing",
];
const pick = (list) => list[Math.floor(Math.random() * list.length)];

export async function settle(client) {
  await client.tenants.set("globex", { weight: 2 });
  await client.tenants.set("initech", { maxRunning: 1 });
  await client.queues.set("imports", { maxRunning: 2 });
  await client.kinds.set("mail.send", { rate: { limit: 600, per: "1m" } });
  await client.tenants.set("umbrella", { rate: { limit: 54, per: "1m" } });
  await client.budgets.set({ tenant: "acme", per: "day", soft: 12, hard: 40 });
  await client.budgets.set({ tenant: "globex", per: "month", hard: 25 });
  for (let n = 1; n <= 8; n++)
    await client.credits.grant(`user-${n}`, n === 5 ? 12 : 200 + 50 * n, { reason: "monthly plan" });
  const every = (cron, job, input, more = {}) => ({ cron, timezone: "Europe/Madrid", job, input, ...more });
  await client.schedules.set("nightly-report", every("0 3 * * *", report, { about: "yesterday" }, { missed: "once" }));
  await client.schedules.set("digest", every("*/1 * * * *", mail, { to: "all", about: "digest" }, { tenant: "acme" }));
  await client.schedules.set(
    "weekly-import",
    every("30 6 * * 1", importRows, { file: "weekly.csv" }, { tenant: "globex" }),
  );
  await client.schedules.set("invoices", every("0 9 L * *", invoice, { no: 0, items: 1 }));
  await client.schedules.pause("weekly-import");
}

/** Until `isOver`. `at` is how far the minutes have come, from 0 to 1. */
export async function run(client, minutes, say, isOver) {
  const startedMs = performance.now();
  const at = () => (performance.now() - startedMs) / (minutes * 60_000);
  let [second, invoices, files] = [0, 0, 0];
  await client.flows.start(pack, { creature: "fox", moods: 120 }, { tenant: "hooli" });
  while (!isOver()) {
    if (second === 100) await client.flows.start(pack, { creature: "owl", moods: 24 }, { tenant: "acme" });
    const orders = [];
    const drawFor = (tenant, count) => {
      for (let n = 0; n < count; n++)
        orders.push(
          client.enqueue(
            draw,
            {
              user: `user-${1 + Math.floor(Math.random() * (count > 1 ? 2 : 8))}`,
              words: pick(WORDS),
              large: Math.random() < 0.2,
            },
            { tenant, tags: ["app"] },
          ),
        );
    };
    drawFor("acme", at() > 0.2 && at() < 0.4 ? 4 : 1);
    // A flood that more workers do help with: up to the cap, and down again when it is over.
    const flood = at() > 0.2 && at() < 0.42 ? 18 : at() > 0.9 ? 7 : 0;
    for (let mood = 0; mood < flood; mood++)
      orders.push(client.enqueue(upscale, { mood }, { tenant: mood % 3 === 0 ? "globex" : "acme" }));
    if (second % 2 === 0) drawFor("globex", 1);
    if (second % 4 === 0) drawFor("hooli", 1);
    if (second % 3 === 0)
      orders.push(...Array.from({ length: 4 }, (_, mood) => client.enqueue(upscale, { mood }, { tenant: "initech" })));
    for (let n = 0; n < 6; n++)
      orders.push(
        client.enqueue(
          mail,
          { to: second % 45 === 7 && n === 0 ? "nobody@nowhere" : `user-${n}`, about: "news" },
          { tenant: pick(["acme", "acme", "globex", "globex", "hooli", "umbrella"]) },
        ),
      );
    if (second % 5 === 0)
      orders.push(
        client.publish(
          hooks,
          { to: pick(["https://slow.example", "https://shop.example"]), order: second },
          { idempotencyKey: `order-${second}`, tenant: "globex" },
        ),
      );
    if (second % 70 === 9)
      orders.push(
        client.publish(
          chat,
          { chat: second % 140 === 9 ? 13 : 0, text: "Hello?" },
          { idempotencyKey: `hello-${second}`, tenant: "hooli" },
        ),
      );
    if (second % 30 === 3)
      orders.push(
        client.enqueue(invoice, { no: 4_100 + ++invoices, items: 3 + invoices }, { tenant: pick(["acme", "globex"]) }),
      );
    if (second % 8 === 2)
      orders.push(client.enqueue(importRows, { file: `list-${++files}.csv` }, { tenant: pick(["globex", "initech"]) }));
    if (second % 25 === 4) orders.push(client.enqueue(report, { about: "sales" }, { tenant: "umbrella" }));
    if (second % 12 === 11) orders.push(client.enqueue(video, { clip: second }, { tenant: "hooli" }));
    if (second % 30 === 15)
      orders.push(client.enqueue(mail, { to: "ann", about: "later" }, { tenant: "acme", delay: "10m" }));
    const refused = (await Promise.allSettled(orders)).filter(({ status }) => status === "rejected");
    for (const { reason } of refused) if (reason.code !== "FAIRMILL_CREDITS_EXHAUSTED") throw reason;
    if (second % 30 === 0) say(`${Math.round(at() * 100)} %`);
    second += 1;
    await sleep(Math.max(0, startedMs + second * 1_000 - performance.now()));
  }
}

/** What people did, over the API like in the dashboard. */
export async function act(ask) {
  await ask("POST", "queues/videos/pause");
  await ask("PUT", "tenants/initech", { maxRunning: 2 });
  await ask("POST", "credits/user-5/grant", { amount: 40, reason: "sorry for the wait" });
  await ask("POST", "bulk", {
    action: "redrive",
    filter: { errorCode: "MAILBOX_UNKNOWN" },
    reason: "The address was mended",
  });
  const { items } = await ask("GET", "jobs?state=scheduled&kind=mail.send&limit=1");
  if (items[0]) await ask("POST", `jobs/${items[0].id}/cancel`);
  // One unknown message is left to be seen.
  const unknown = (await ask("GET", "outbox?status=unknown&limit=10")).items.slice(1);
  for (const { id } of unknown) await ask("POST", `outbox/${id}/resolve`, { verdict: "sent" });
}
