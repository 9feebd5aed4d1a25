// A silence holds back what is told of an alert, and not the alert.
import { createClient } from "fairmill";
import { describe, expect, test } from "vitest";
import { cli, jsonOf } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";
import { AT_ONCE, alertsRig, briefly } from "./rig.js";

const db = useDatabase();
const { keeper, fill, serve } = alertsRig(db);

describe("silences", () => {
  test("keep changes from being sent, not from being stored; what still fires afterwards is told then", async () => {
    await serve();
    await fill(60);
    await using client = createClient({ databaseUrl: db.url });
    const silence = await client.alerts.silence({
      rule: "queue-depth-50",
      subject: "mails",
      for: "1h",
      reason: "deploy",
      actor: "ann",
    });
    const watch = keeper({ ...AT_ONCE, "queue-depth-10": false });
    expect(await watch.evaluate(0)).toEqual([]);
    expect(await client.alerts.list()).toMatchObject([{ state: "firing", silencedBy: "ann" }]);
    expect(await watch.evaluate(0)).toEqual([]);
    expect(await client.alerts.unsilence(silence.id)).toBe(true);
    expect(await client.alerts.unsilence(silence.id)).toBe(false);
    expect(briefly(await watch.evaluate(0))).toEqual([["queue-depth-50", "mails", "fired"]]);
    expect(await watch.evaluate(0)).toEqual([]);
  });

  test("by the command: of an alert, of a rule; listed and ended", async () => {
    await serve();
    await fill(60);
    await keeper(AT_ONCE).evaluate(0);
    const env = { DATABASE_URL: db.url };
    const [alert] = jsonOf<{ alerts: { id: string; rule: string }[] }>(await cli(["alerts", "--json"], { env })).alerts;
    const made = jsonOf<{ id: string }>(
      await cli(["alerts", "silence", alert!.id, "--for", "2h", "--reason", "deploying", "--json"], { env }),
    );
    expect(made).toMatchObject({ rule: alert!.rule, subject: "mails", reason: "deploying" });
    expect((await cli(["alerts", "silences"], { env })).stdout).toContain("deploying");
    expect((await cli(["alerts", "unsilence", made.id], { env })).stdout).toBe(`Silence ${made.id} is over.\n`);
    for (const bad of [["silence"], ["silence", "--for", "1h"], ["nope"], ["export"]])
      expect((await cli(["alerts", ...bad], { env })).code).toBe(2);
    expect((await cli(["alerts", "silence", "999999", "--for", "1h"], { env })).stderr).toContain(
      "There is no alert 999999",
    );
  });
});
