// A word-sized chart: bars for counts, without axes.
export function Sparkline({
  values,
  label,
  tone = "c-accent",
}: {
  values: readonly number[];
  label: string;
  tone?: string;
}) {
  const max = Math.max(1, ...values);
  const step = values.length > 0 ? 96 / values.length : 96;
  return (
    <svg class={`spark ${tone}`} width="96" height="22" role="img" aria-label={label}>
      {values.map((value, index) => {
        const height = value <= 0 ? 1 : Math.max(2, (value / max) * 20);
        return (
          // Buckets have no name but their place.
          <rect
            key={index}
            x={index * step}
            y={22 - height}
            width={Math.max(1, step - 1)}
            height={height}
            opacity={value > 0 ? 1 : 0.3}
          />
        );
      })}
    </svg>
  );
}
