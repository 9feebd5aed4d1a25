// Styles and emotions that the prompts know, in a table that an editor may change. Every sticker asks for them, so they are cached: one load for all workers.
import { type Cache, type Client, defineCache } from "fairmill";
import type pg from "pg";
import { MOODS, type Mood } from "./moods.js";

/** By its name: what a prompt says for it. */
type Entries = Readonly<Record<string, string>>;

const LANGUAGE = "en";
const FIRST_STYLES: Entries = {
  watercolour: "soft watercolour, visible paper",
  pixel: "pixel art, sixteen colours",
  ink: "ink drawing, few strokes",
};
const FIRST_EMOTIONS: Record<Mood, string> = {
  happy: "a wide smile",
  sad: "a tear in one eye",
  angry: "brows drawn together",
  "in love": "hearts for eyes",
  surprised: "round eyes, an open mouth",
  sleepy: "eyes half closed",
  proud: "chest out, chin up",
  cheeky: "one eye closed, tongue out",
};

export class Catalogue {
  readonly #db: pg.Pool;
  readonly #client: Client;
  readonly #table: string;
  readonly #styles: Cache<Entries>;
  readonly #emotions: Cache<Entries>;

  constructor(db: pg.Pool, client: Client, jobsSchema: string) {
    this.#db = db;
    this.#client = client;
    this.#table = `${jobsSchema}_bot.catalogue`;
    const cacheOf = (name: "style" | "emotion") =>
      defineCache<Entries>({ name: `stickers-${name}s`, ttl: "1h", load: (language) => this.#load(name, language) });
    this.#styles = cacheOf("style");
    this.#emotions = cacheOf("emotion");
  }

  /** In the schema that `People` makes; what is there already stays as it is. */
  async createTable(): Promise<void> {
    await this.#db.query(`create table if not exists ${this.#table} (
      sort text not null, language text not null, name text not null, words text not null, primary key (sort, language, name))`);
    for (const [sort, entries] of [
      ["style", FIRST_STYLES],
      ["emotion", FIRST_EMOTIONS],
    ] as const)
      await this.#db.query(
        `insert into ${this.#table} (sort, language, name, words)
         select $1, $2, name, words from unnest($3::text[], $4::text[]) as e (name, words) on conflict do nothing`,
        [sort, LANGUAGE, Object.keys(entries), Object.values(entries)],
      );
  }

  /** The names of the emotions, for packs. */
  async emotions(): Promise<readonly string[]> {
    const known = await this.#client.cache.get(this.#emotions, LANGUAGE);
    // In the order in which they began; what an editor added comes behind.
    const first = MOODS.filter((mood) => mood in known);
    return [...first, ...Object.keys(known).filter((name) => !(MOODS as readonly string[]).includes(name))];
  }

  /** The plain background is what the cut-out lives on. */
  async promptOf(words: string): Promise<string> {
    const { cache } = this.#client;
    const [styles, emotions] = await Promise.all([
      cache.get(this.#styles, LANGUAGE),
      cache.get(this.#emotions, LANGUAGE),
    ]);
    const named = (entries: Entries) =>
      Object.entries(entries).flatMap(([name, said]) => (words.toLowerCase().includes(name) ? [said] : []));
    const details = [...named(emotions), ...named(styles)].map((said) => `, ${said}`).join("");
    return `A sticker of ${words}: one creature${details}, whole body, thick outline, on a plain green background, no text.`;
  }

  async #load(sort: "style" | "emotion", language: string): Promise<Entries> {
    const { rows } = await this.#db.query<{ name: string; words: string }>(
      `select name, words from ${this.#table} where sort = $1 and language = $2 order by name`,
      [sort, language],
    );
    return Object.fromEntries(rows.map(({ name, words }) => [name, words]));
  }
}
