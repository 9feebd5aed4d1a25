// A tool as an agent sees it, and what it is given to do its work.
import type { Schema } from "../http/schema.js";
import type { Api } from "./api.js";
import type { Confirmations } from "./confirmations.js";

export interface ToolContext {
  readonly api: Api;
  readonly confirmations: Confirmations;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
}

export interface ToolAnswer {
  readonly value: unknown;
  readonly isError: boolean;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Schema<unknown>;
  /** It changes nothing. */
  readonly isReader: boolean;
  call(input: never, context: ToolContext): Promise<ToolAnswer>;
}

export interface ToolSpec<T> extends Omit<Tool, "input" | "call"> {
  readonly input: Schema<T>;
  call(input: T, context: ToolContext): Promise<ToolAnswer>;
}

export const defineTool = <T>(spec: ToolSpec<T>): Tool => spec as unknown as Tool;

export const refused = (message: string): ToolAnswer => ({ value: { error: message }, isError: true });
