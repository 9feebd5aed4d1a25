import { describe, expect, test } from "vitest";
import { chooseServerUser, parsePasswd } from "../../src/embedded/server-user.js";
import { weAreRoot } from "./scratch.js";

describe("the server's user", () => {
  test.runIf(weAreRoot)("is never root", async () => {
    expect((await chooseServerUser(undefined)).uid).not.toBe(0);
    expect((await chooseServerUser({ uid: 0, gid: 0 })).uid).not.toBe(0);
  });

  test.runIf(!weAreRoot)("is ourselves", async () => {
    expect(await chooseServerUser(undefined)).toMatchObject({ uid: process.geteuid?.(), switched: false });
  });

  test("is read from the list of accounts, comments and strange lines aside", () => {
    const accounts = parsePasswd(
      "# comment\nroot:x:0:0:root:/root:/bin/sh\n\nnobody:*:-2:-2:Unprivileged:/var/empty:/bin/false\npostgres:x:101:104::/:/bin/sh\nodd:x:a:b",
    );
    expect(Object.fromEntries(accounts)).toEqual({
      root: { uid: 0, gid: 0 },
      nobody: { uid: 4294967294, gid: 4294967294 },
      postgres: { uid: 101, gid: 104 },
    });
  });
});
