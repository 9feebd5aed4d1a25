import type { Rate } from "../data/contract";
import { count, NOTHING } from "../format/numbers";
import { duration } from "../format/times";

const PERIODS: Record<number, string> = { 1000: "s", 60000: "min", 3600000: "h", 86400000: "day" };

/** s, min, h, day, 5 min */
export const perWords = (ms: number): string => PERIODS[ms] ?? duration(ms);

/** 100 per min, evenly */
export const rateWords = (rate: Rate | null | undefined): string =>
  rate
    ? `${count(rate.limit)}/${PERIODS[rate.perMs] ?? duration(rate.perMs)}${rate.how === "uniform" ? ", evenly" : ""}${rate.at === "enqueue" ? ", refused above" : ""}`
    : NOTHING;
