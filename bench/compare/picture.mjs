// The steady runs as a picture: jobs per second over time, without and with an old snapshot open.

const WIDTH = 860;
const HEIGHT = 330;
const PANEL = { width: 350, height: 210, top: 56, lefts: [64, 484] };
const STEP_SECONDS = 5;
const COLOURS = {
  Fairmill: "#0b7a55",
  "raw SQL": "#6b7280",
  "pg-boss": "#b45309",
  "graphile-worker": "#7c3aed",
  "BullMQ on Redis": "#be123c",
};
const TITLES = { steady: "At most 2,000 jobs waiting", "steady, old snapshot": "The same, an old snapshot stays open" };

/** @param {{ scenario: string, system: string, samples: { rates?: number[] }[] }[]} taken */
export function drawSteady(taken) {
  const runs = taken.filter(({ scenario, samples }) => scenario in TITLES && samples[0].rates);
  const top = niceTop(Math.max(...runs.flatMap(({ samples }) => samples[0].rates)));
  const systems = Object.keys(COLOURS).filter((name) => runs.some(({ system }) => system === name));
  const panels = Object.keys(TITLES).map((scenario, i) =>
    panel(
      scenario,
      runs.filter((run) => run.scenario === scenario),
      PANEL.lefts[i],
      top,
    ),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="12" fill="#374151">`,
    `<title>Jobs per second over time, with a shallow backlog</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    ...panels,
    ...systems.map((name, i) => {
      const x = PANEL.lefts[0] + i * 150;
      return `<path d="M${x} ${HEIGHT - 18}h22" ${stroke(name)}/><text x="${x + 28}" y="${HEIGHT - 14}">${name}</text>`;
    }),
    "</svg>",
    "",
  ].join("\n");
}

function panel(scenario, runs, left, top) {
  const bottom = PANEL.top + PANEL.height;
  const steps = Math.max(2, ...runs.map(({ samples }) => samples[0].rates.length));
  const x = (step) => (left + (step / (steps - 1)) * PANEL.width).toFixed(1);
  const y = (rate) => (bottom - (rate / top) * PANEL.height).toFixed(1);
  const marks = [0, 0.5, 1].map((part) => part * top);
  return [
    `<text x="${left}" y="30" font-size="14" font-weight="600" fill="#111827">${TITLES[scenario]}</text>`,
    ...marks.map(
      (rate) =>
        `<path d="M${left} ${y(rate)}h${PANEL.width}" stroke="#e5e7eb"/>` +
        `<text x="${left - 8}" y="${Number(y(rate)) + 4}" text-anchor="end">${rate.toLocaleString("en")}</text>`,
    ),
    `<text x="${left}" y="${bottom + 18}">0</text>`,
    `<text x="${left + PANEL.width}" y="${bottom + 18}" text-anchor="end">${steps * STEP_SECONDS} s</text>`,
    ...runs.map(({ system, samples }) => {
      const points = samples[0].rates.map((rate, step) => `${x(step)} ${y(rate)}`);
      return `<path d="M${points.join("L")}" ${stroke(system)}/>`;
    }),
  ].join("\n");
}

const stroke = (system) =>
  `fill="none" stroke="${COLOURS[system]}" stroke-width="${system === "Fairmill" ? 2.5 : 1.5}" stroke-linejoin="round"`;

function niceTop(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return Math.ceil(value / unit) * unit;
}
