// What the single keys do: ways to break the bot while it runs.
import { PACK_SCHEDULE } from "../packs.js";
import type { Parts } from "../parts.js";
import type { Simulation } from "./simulation.js";
import type { SyntheticUsers } from "./synthetic-users.js";
import type { View } from "./view.js";
import type { WorkerProcesses } from "./worker-processes.js";

export const KEYS = `Keys: k kill a worker      p remover down/up          n noisy tenant
      s kill the supervisor  g picture models down/up   u a thousand users
      m make a pack          q quit
`;

interface Controls {
  readonly parts: Parts;
  readonly simulation: Simulation;
  readonly workers: WorkerProcesses;
  readonly users: SyntheticUsers | undefined;
  readonly view: View;
  quit(): void;
}

export function keysOf({ parts, simulation, workers, users, view, quit }: Controls): Record<string, () => void> {
  return {
    k: () =>
      void workers.kill().then(
        (pid) =>
          view.say(
            pid === undefined
              ? "no worker is ready to be killed"
              : `killed worker ${pid}: its stickers go on behind their last step in another one, and the supervisor starts a new one`,
          ),
        () => {},
      ),
    s: () =>
      view.say(
        `killed supervisor ${workers.killSupervisor() ?? "(none runs)"}: its stickers go on when its lease is over (5 s)`,
      ),
    p: () => {
      const weather = simulation.pixian?.weather;
      if (!weather) return view.say("the background remover is the real one: it cannot be taken down from here");
      weather.isDown = !weather.isDown;
      view.say(`the background remover is ${weather.isDown ? "down: stickers are cut out here, less finely" : "back"}`);
    },
    g: () => {
      const weather = simulation.gemini?.weather;
      if (!weather) return view.say("the picture model is the real one: it cannot be taken down from here");
      weather.isDown = !weather.isDown;
      view.say(
        `both picture models are ${weather.isDown ? "down: breakers open, stickers wait and hold no worker" : "back"}`,
      );
    },
    n: () => {
      users?.add("memes", 30, "noisy");
      view.say("30 more noisy users in memes: watch the waits of cats and office");
    },
    u: () => {
      users?.add("visitors", 1_000, "calm", 1);
      view.say(
        "a thousand users join visitors and ask once: they wait in a lane of their own; the others go on, and those who have paid go first",
      );
    },
    m: () => {
      void parts.client.schedules.run(PACK_SCHEDULE).then(
        () =>
          view.say("the night's pack is made now: a flow draws one creature in all its moods, and sends one message"),
        (error: Error) => view.say(`no pack is made: ${error.message}`),
      );
    },
    q: quit,
  };
}
