// Draws what a picture model would: a small creature with a mood, on a plain background. The same words give the same picture, and a creature that is
// asked for in another mood is the same creature.
import { createHash } from "node:crypto";
import { MOODS, type Mood } from "../moods.js";
import { ACCESSORIES, THINGS } from "./things.js";

const SPECIES = ["cat", "bear", "bunny", "fox", "frog", "ghost"] as const;
type Species = (typeof SPECIES)[number];

interface Palette {
  readonly light: string;
  readonly dark: string;
  readonly line: string;
  readonly belly: string;
}

const PALETTES: readonly Palette[] = [
  { light: "#ffd58a", dark: "#f2a541", line: "#6b3f12", belly: "#fff3d9" },
  { light: "#a8e6cf", dark: "#56b893", line: "#15513c", belly: "#eefcf5" },
  { light: "#c3b4f5", dark: "#8a72d9", line: "#33245f", belly: "#f3efff" },
  { light: "#ffb3c1", dark: "#ee6f8a", line: "#6a1730", belly: "#fff0f3" },
  { light: "#9fd3f7", dark: "#4d9fd6", line: "#12405f", belly: "#ecf7ff" },
  { light: "#e8dcca", dark: "#b79a78", line: "#4b3821", belly: "#fbf6ee" },
];

/** Plain, and like no creature's colour: cutting the creature out is easy then. */
const BACKGROUND = "#2fd36b";
const SIZE = 768;

/** The SVG of a creature for these words: species, mood and what it carries where they are named, the rest by the words' own dice. */
export function drawCreature(words: string, quality: "fine" | "plain" = "fine"): string {
  const dice = diceOf(withoutMood(words));
  const species = SPECIES.find((one) => words.toLowerCase().includes(one)) ?? pick(SPECIES, dice);
  const mood = MOODS.find((one) => words.toLowerCase().includes(one)) ?? pick(MOODS, dice);
  const palette = pick(PALETTES, dice);
  const named = Object.entries(THINGS).find(([thing]) => words.toLowerCase().includes(thing))?.[1];
  const carried = pick(ACCESSORIES, dice);
  const tilt = (dice() - 0.5) * 10;
  const body = quality === "fine" ? "url(#body)" : palette.light;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${SIZE}" height="${SIZE}" viewBox="0 0 200 200">
  <defs><radialGradient id="body" cx="0.38" cy="0.3" r="0.9"><stop offset="0" stop-color="${palette.light}"/><stop offset="1" stop-color="${palette.dark}"/></radialGradient></defs>
  <rect width="200" height="200" fill="${BACKGROUND}"/>
  <g transform="rotate(${tilt.toFixed(1)} 100 110)" stroke="${palette.line}" stroke-width="3.4" stroke-linejoin="round" stroke-linecap="round" fill="${body}">
    ${EARS[species](palette, body)}
    ${species === "ghost" ? ghostBody() : roundBody(palette, body)}
    ${face(mood, palette, species)}
    ${named ?? carried}
  </g>
</svg>`;
}

const roundBody = ({ belly }: Palette, body: string): string => `
    <path d="M62 172c-8 10-2 16 8 15l14-6zM138 172c8 10 2 16-8 15l-14-6z" fill="${body}"/>
    <path d="M100 42c38 0 58 26 58 62 0 44-22 76-58 76s-58-32-58-76c0-36 20-62 58-62z"/>
    <path d="M100 128c20 0 33 12 33 26 0 14-14 24-33 24s-33-10-33-24c0-14 13-26 33-26z" fill="${belly}" stroke="none"/>
    <path d="M50 124c-14 4-20 16-14 24 6 6 14 2 20-8M150 124c14 4 20 16 14 24-6 6-14 2-20-8"/>`;

const ghostBody = (): string => `
    <path d="M100 36c36 0 56 26 56 64v72c0 10-10 12-15 4-5-8-13-8-18 0s-18 8-23 0-18-8-23 0-13 8-18 0c-5-8-15-6-15-4v-72c0-38 20-64 56-64z"/>`;

const EARS: Readonly<Record<Species, (palette: Palette, body: string) => string>> = {
  cat: ({ belly }) =>
    `<path d="M56 74 48 26l38 22zM144 74l8-48-38 22z"/><path d="M60 62 56 38l19 12zM140 62l4-24-19 12z" fill="${belly}" stroke="none"/>`,
  fox: ({ dark }) =>
    `<path d="M54 80 40 20l46 30zM146 80l14-60-46 30z"/><path d="M44 36 40 20l16 11zM156 36l4-16-16 11z" fill="${dark}" stroke="none"/>`,
  bear: ({ belly }) =>
    `<circle cx="58" cy="56" r="19"/><circle cx="142" cy="56" r="19"/><g fill="${belly}" stroke="none"><circle cx="58" cy="56" r="9"/><circle cx="142" cy="56" r="9"/></g>`,
  bunny: ({ belly }) =>
    `<path d="M74 58C58 30 58 4 70 4s20 28 20 48zM126 58c16-28 16-54 4-54s-20 28-20 48z"/><path d="M76 46c-8-16-9-32-5-32s10 18 12 34zM124 46c8-16 9-32 5-32s-10 18-12 34z" fill="${belly}" stroke="none"/>`,
  frog: () => `<circle cx="70" cy="52" r="20"/><circle cx="130" cy="52" r="20"/>`,
  ghost: () => "",
};

/** Eyes, mouth and what goes with a mood. */
function face(mood: Mood, { line }: Palette, species: Species): string {
  const y = species === "frog" ? 92 : 98;
  const eye = (x: number): string => EYES[mood](x, y, line);
  const cheeks = `<g fill="#ff7d9c" stroke="none" opacity="0.5"><ellipse cx="64" cy="${y + 16}" rx="10" ry="6"/><ellipse cx="136" cy="${y + 16}" rx="10" ry="6"/></g>`;
  return `${cheeks}${eye(78)}${eye(122)}<g fill="none">${MOUTHS[mood](y + 16, line)}</g>${EXTRAS[mood] ?? ""}`;
}

const openEye = (x: number, y: number, line: string, size = 1): string =>
  `<g stroke="none"><ellipse cx="${x}" cy="${y}" rx="${8.5 * size}" ry="${10.5 * size}" fill="${line}"/><circle cx="${x + 3}" cy="${y - 4}" r="${3.4 * size}" fill="#fff"/><circle cx="${x - 3}" cy="${y + 4}" r="${1.6 * size}" fill="#fff"/></g>`;
const closedEye = (x: number, y: number): string => `<path d="M${x - 9} ${y}q9 9 18 0" fill="none"/>`;
const heartEye = (x: number, y: number): string =>
  `<path d="M${x} ${y + 11}c-15-10-14-22-6-22 4 0 6 3 6 6 0-3 2-6 6-6 8 0 9 12-6 22z" fill="#f0325c" stroke="none"/>`;

const EYES: Readonly<Record<Mood, (x: number, y: number, line: string) => string>> = {
  happy: openEye,
  sad: (x, y, line) =>
    `${openEye(x, y, line)}<path d="M${x < 100 ? x - 10 : x + 10} ${y - 12}L${x < 100 ? x + 6 : x - 6} ${y - 19}" fill="none"/>`,
  angry: (x, y, line) =>
    `${openEye(x, y, line, 0.9)}<path d="M${x < 100 ? x - 11 : x + 11} ${y - 20}L${x < 100 ? x + 8 : x - 8} ${y - 10}" fill="none" stroke-width="5"/>`,
  "in love": heartEye,
  surprised: (x, y, line) => openEye(x, y, line, 1.25),
  sleepy: (x, y) => closedEye(x, y),
  proud: (x, y) => `<path d="M${x - 9} ${y + 3}q9-12 18 0" fill="none"/>`,
  cheeky: (x, y, line) => (x < 100 ? openEye(x, y, line) : closedEye(x, y)),
};

const MOUTHS: Readonly<Record<Mood, (y: number, line: string) => string>> = {
  happy: (y, line) =>
    `<path d="M84 ${y}q16 24 32 0z" fill="${line}"/><path d="M93 ${y + 9}q7-5 14 0-7 6-14 0z" fill="#ff6b85" stroke="none"/>`,
  sad: (y) => `<path d="M87 ${y + 10}q13-13 26 0"/>`,
  angry: (y) => `<path d="M86 ${y + 8}l7-6 7 6 7-6 7 6"/>`,
  "in love": (y, line) => `<path d="M84 ${y}q16 24 32 0z" fill="${line}"/>`,
  surprised: (y, line) => `<ellipse cx="100" cy="${y + 8}" rx="7" ry="10" fill="${line}"/>`,
  sleepy: (y, line) => `<ellipse cx="100" cy="${y + 7}" rx="5" ry="4" fill="${line}"/>`,
  proud: (y) => `<path d="M84 ${y + 2}q18 16 32-4"/>`,
  cheeky: (y) => `<path d="M86 ${y + 2}q14 14 28 0"/><path d="M104 ${y + 8}c0 12 12 12 12 0" fill="#ff6b85"/>`,
};

const EXTRAS: Readonly<Partial<Record<Mood, string>>> = {
  sad: `<path d="M66 116c-5 8-5 13 0 13s5-5 0-13z" fill="#7cc8ff" stroke="#2b7db5" stroke-width="2"/>`,
  angry: `<path d="M148 58l12-8M152 66l14-2M142 50l6-12" fill="none" stroke="#e0314f" stroke-width="4"/>`,
  "in love": `<path d="M160 62c-13-8-12-18-5-18 3 0 5 2 5 5 0-3 2-5 5-5 7 0 8 10-5 18z" fill="#f0325c" stroke="none"/>`,
  sleepy: `<path d="M146 54h12l-12 14h12M164 34h9l-9 10h9" fill="none" stroke-width="3"/>`,
  surprised: `<path d="M158 50l8-14M166 62l14-6" fill="none" stroke-width="4"/>`,
};

const pick = <T>(list: readonly T[], dice: () => number): T => list[Math.floor(dice() * list.length)]!;

/** What a prompt says after its colon describes the mood, too. */
const withoutMood = (words: string): string =>
  MOODS.reduce((rest, mood) => rest.replaceAll(mood, ""), words.toLowerCase().split(":")[0]!);

/** Numbers in [0, 1) that the words decide. */
function diceOf(words: string): () => number {
  let block = createHash("sha256").update(words).digest();
  let at = 0;
  return () => {
    if (at + 4 > block.length) {
      block = createHash("sha256").update(block).digest();
      at = 0;
    }
    at += 4;
    return block.readUInt32BE(at - 4) / 2 ** 32;
  };
}
