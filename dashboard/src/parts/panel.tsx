// Frames: a panel with its heading, a row of figures, a list of facts.
import type { ComponentChildren } from "preact";

export const Panel = (props: {
  title?: string;
  note?: ComponentChildren;
  tools?: ComponentChildren;
  flush?: boolean;
  children: ComponentChildren;
}) => (
  <section class="panel">
    {props.title && (
      <header>
        <h2>{props.title}</h2>
        {props.note && <p>{props.note}</p>}
        {props.tools && <div class="push">{props.tools}</div>}
      </header>
    )}
    <div class={props.flush ? "body flush" : "body"}>{props.children}</div>
  </section>
);

export interface Figure {
  readonly label: string;
  readonly value: ComponentChildren;
  readonly unit?: string;
  readonly note?: ComponentChildren;
  readonly href?: string;
  readonly alarm?: boolean;
}

const COLUMNS: Record<number, string> = { 3: "three", 4: "four", 6: "six" };

export const Stats = ({ figures }: { figures: readonly Figure[] }) => (
  <div class={`stats ${COLUMNS[figures.length] ?? ""}`}>
    {figures.map((figure) => (
      <Stat key={figure.label} {...figure} />
    ))}
  </div>
);

function Stat({ label, value, unit, note, href, alarm }: Figure) {
  const inside = (
    <>
      <span class="label">{label}</span>
      <span class="figure">
        {value}
        {unit && <small>{unit}</small>}
      </span>
      {note !== undefined && <span class="note">{note}</span>}
    </>
  );
  const name = alarm ? "stat alarm" : "stat";
  return href ? (
    <a class={name} href={href}>
      {inside}
    </a>
  ) : (
    <div class={name}>{inside}</div>
  );
}

export const Facts = ({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) => (
  <dl class="facts">
    {facts.map(([name, value]) => [<dt key={`t${name}`}>{name}</dt>, <dd key={`d${name}`}>{value}</dd>])}
  </dl>
);

export const Meter = ({ share, tone, label }: { share: number; tone?: string; label: string }) => (
  <span
    class={`meter${tone ? ` tone-${tone}` : ""}`}
    role="meter"
    aria-label={label}
    aria-valuemin={0}
    aria-valuemax={100}
    aria-valuenow={Math.round(Math.min(1, Math.max(0, share)) * 100)}
  >
    <i style={{ width: `${Math.min(1, Math.max(0, share)) * 100}%` }} />
  </span>
);
