// A figure of an alert with its unit.
import { bytes, decimal, percent, singular } from "../../format/numbers";
import { duration } from "../../format/times";

export const measure = (value: number, unit: string): string =>
  unit === "ms"
    ? duration(value)
    : unit === "ratio"
      ? percent(value, 1)
      : unit === "bytes"
        ? bytes(value)
        : `${decimal(value)}${unit && unit !== "count" ? ` ${value === 1 ? unitOfOne(unit) : unit}` : ""}`;

/** Units of things are plural words; those of time are letters. */
const unitOfOne = (unit: string): string => (unit.length > 2 ? singular(unit) : unit);
