// What PostgreSQL's texts mean, said with every statement: the driver's own parsers belong to the whole process, and applications change them.
// Numbers of 64 bits stay texts, as ids are.
import { DatabaseError } from "../base/errors.js";

type Parse = (text: string) => unknown;

const TIME = /^(\d{4,6})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?$/;

/** To the millisecond; what is finer is cut off. */
function time(text: string): Date | number {
  if (text === "infinity") return Number.POSITIVE_INFINITY;
  if (text === "-infinity") return Number.NEGATIVE_INFINITY;
  const match = TIME.exec(text);
  if (!match)
    throw new DatabaseError(
      "FAIRMILL_DATABASE",
      `PostgreSQL sent the time "${text}", which is not in the style ISO. Fairmill needs DateStyle ISO: alter database … set datestyle = 'ISO'.`,
    );
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const ms = Number((match[7] ?? "").padEnd(3, "0").slice(0, 3));
  const zone =
    (match[8] === "-" ? -1 : 1) * (Number(match[9]) * 3600 + Number(match[10] ?? 0) * 60 + Number(match[11] ?? 0));
  return new Date(Date.UTC(year, month - 1, day, hour, minute, second, ms) - zone * 1000);
}

/** The elements of an array of one dimension. */
function elements(text: string): (string | null)[] {
  const list: (string | null)[] = [];
  let at = text.indexOf("{") + 1;
  while (text[at] !== "}") {
    let element = "";
    if (text[at] === '"') {
      for (at++; text[at] !== '"'; at++) element += text[at] === "\\" ? text[++at] : text[at];
      at++;
      list.push(element);
    } else {
      while (text[at] !== "," && text[at] !== "}") element += text[at++];
      list.push(element === "NULL" ? null : element);
    }
    if (text[at] === ",") at++;
  }
  return list;
}

const arrayOf = (parse: Parse) => (text: string) => elements(text).map((one) => (one === null ? null : parse(one)));

const asText: Parse = (text) => text;
const asBoolean: Parse = (text) => text === "t";

/** By the number of the type: bool, int2, int4, oid, float4, float8, json, jsonb, timestamptz, and arrays. All others are texts. */
const PARSERS = new Map<number, Parse>([
  [16, asBoolean],
  [21, Number],
  [23, Number],
  [26, Number],
  [700, Number],
  [701, Number],
  [114, JSON.parse],
  [3802, JSON.parse],
  [1184, time],
  [1000, arrayOf(asBoolean)],
  [1005, arrayOf(Number)],
  [1007, arrayOf(Number)],
  [1016, arrayOf(asText)],
  [1009, arrayOf(asText)],
  [1021, arrayOf(Number)],
  [1022, arrayOf(Number)],
  [1185, arrayOf(time)],
]);

export const PARSED = { types: { getTypeParser: (type: number) => PARSERS.get(type) ?? asText } } as const;
