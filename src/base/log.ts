// Structured logs: one JSON object a line, and lines for people when the output is a terminal.
import { pino } from "pino";
import { ConfigError } from "./errors.js";
import { oneOf, readable } from "./settings.js";
import { showValue } from "./show-value.js";

/** What Fairmill needs of a logger; pino's fit, and so does any object of this shape. */
export interface Logger {
  debug(facts: object, message?: string): void;
  info(facts: object, message?: string): void;
  warn(facts: object, message?: string): void;
  error(facts: object, message?: string): void;
  child(bindings: object): Logger;
  /** Where a logger has it, lines below its level are not even put together. */
  isLevelEnabled?(level: string): boolean;
}

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

/** What is missing would be noticed at the first line, in the middle of the work. */
export function checkLogger(logger: Logger): void {
  for (const method of ["debug", "info", "warn", "error", "child"] as const)
    if (!readable("logger", "logger", () => typeof logger?.[method] === "function"))
      throw new ConfigError(
        "logger",
        `logger: ${showValue(logger)} has no ${method}(). A logger has debug, info, warn, error and child; pino's fit.`,
      );
}

const nothing = () => {};
export const silentLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => silentLogger,
  isLevelEnabled: () => false,
};

export function createLogger(options: { level?: string | undefined; pretty?: boolean | undefined } = {}): Logger {
  const fromEnvironment = process.env["FAIRMILL_LOG_LEVEL"] || "info";
  const level =
    options.level === undefined
      ? oneOf(fromEnvironment, LOG_LEVELS, "FAIRMILL_LOG_LEVEL")
      : oneOf(options.level, LOG_LEVELS, "level", "createLogger");
  const pretty = options.pretty ?? process.stdout.isTTY === true;
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pretty
      ? { write: (line: string) => process.stdout.write(forPeople(line)) }
      : pino.destination({ dest: 1, sync: true }),
  );
}

const COLOURS: Record<string, string> = { debug: "\x1b[90m", info: "\x1b[36m", warn: "\x1b[33m", error: "\x1b[31m" };

/** `12:30:01.123 info  Job completed  job=17 kind=mail.send duration=45.2s` */
export function forPeople(line: string): string {
  const { time, level, msg, err, ...facts } = JSON.parse(line) as Record<string, unknown> & {
    err?: { stack?: string };
  };
  const clock = String(time).slice(11, 23);
  const rest = Object.entries(facts)
    .map(
      ([name, value]) => `\x1b[90m${name}=\x1b[0m${typeof value === "string" ? visible(value) : JSON.stringify(value)}`,
    )
    .join(" ");
  const trouble = err?.stack ? `\n${visible(err.stack, true)}` : "";
  return `\x1b[90m${clock}\x1b[0m ${COLOURS[String(level)] ?? ""}${String(level).padEnd(5)}\x1b[0m ${visible(String(msg ?? ""))}  ${rest}${trouble}\n`;
}

/** A name from outside must not move the cursor or start a new line. */
export const visible = (text: string, keepLines = false) =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is made visible.
  text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (c) =>
    keepLines && c === "\n" ? c : `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
