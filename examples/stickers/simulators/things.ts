// What a creature can carry, as SVG in the space of the drawing: a body from 42 to 158 across, eyes at 98, a belly around 154.

/** By the words of a request that name it. */
export const THINGS: Readonly<Record<string, string>> = {
  hat: `<path d="M76 46V10q24-8 48 0v36z" fill="#45455c"/><path d="M76 40q24 8 48 0V29q-24 8-48 0z" fill="#e0475f" stroke="none"/><path d="M56 44q44 16 88 0 4 8-8 12-36 12-72 0-12-4-8-12z" fill="#45455c"/>`,
  rain: `<path d="M66 46a14 14 0 0 1 3-27 20 20 0 0 1 36-6 16 16 0 0 1 27 12 11 11 0 0 1 3 21z" fill="#e6edf6"/><g fill="#7cc8ff" stroke="#2b7db5" stroke-width="2"><path d="M34 66c-5 8-5 13 0 13s5-5 0-13zM166 70c-5 8-5 13 0 13s5-5 0-13zM28 102c-5 8-5 13 0 13s5-5 0-13zM174 106c-5 8-5 13 0 13s5-5 0-13z"/></g>`,
  bicycle: `<g fill="none" stroke="#45455c" stroke-width="4"><circle cx="56" cy="168" r="23"/><circle cx="144" cy="168" r="23"/></g><path d="M56 168l24-24h48l16 24M80 144l22 24h-46M102 168l26-24M128 144l-3-9h-12M80 144l-3-7M70 136h15" fill="none" stroke="#e0475f" stroke-width="4.5"/>`,
  work: `<path d="M66 136h68q4 0 4 4v36H62v-36q0-4 4-4z" fill="#8d99b0"/><path d="M52 176h96l6 8q-54 5-108 0z" fill="#cfd6e2"/><circle cx="100" cy="156" r="5.5" fill="#fff" stroke="none"/>`,
  cake: `<path d="M70 176h60l6 7H64z" fill="#cfd6e2"/><path d="M76 152h48v24H76z" fill="#fff3d9"/><path d="M76 152h48v9q-6 6-12 0-6 6-12 0-6 6-12 0-6 6-12 0z" fill="#ff8fb1"/><path d="M100 152v-10" stroke="#4d7fe0" stroke-width="5"/><path d="M100 142c-6-5-3-10 0-14 3 4 6 9 0 14z" fill="#ffd34d" stroke-width="2"/>`,
  monday: `<path d="M120 144h30v24q0 7-7 7h-16q-7 0-7-7z" fill="#fff"/><path d="M150 149q14 1 10 12-3 7-10 7" fill="none"/><path d="M129 136q-5-6 0-12M141 136q-5-6 0-12" fill="none" stroke-width="2.6"/>`,
};

/** What it wears when nothing is named. */
export const ACCESSORIES: readonly string[] = [
  "",
  `<path d="M76 44 70 18l16 12 14-18 14 18 16-12-6 26z" fill="#ffd34d"/><g stroke="none" fill="#f0325c"><circle cx="100" cy="34" r="4"/></g>`,
  `<path d="M52 128q48 20 96 0l4 13q-52 22-104 0z" fill="#e0475f"/><path d="M128 142l12 30 14-6-11-28z" fill="#e0475f"/>`,
  `<g fill="none" stroke-width="4.5"><circle cx="78" cy="98" r="17"/><circle cx="122" cy="98" r="17"/><path d="M95 96q5-4 10 0"/></g>`,
  `<path d="M100 140l-20-11v22zM100 140l20-11v22z" fill="#4d7fe0"/><circle cx="100" cy="140" r="5" fill="#2c5bb8"/>`,
  `<path d="M100 8l6 14 15 1-12 10 4 15-13-8-13 8 4-15-12-10 15-1z" fill="#ffd34d"/>`,
];
