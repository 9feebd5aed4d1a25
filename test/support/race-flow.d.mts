import type { FlowDefinition } from "fairmill";

export declare const raceFlow: FlowDefinition<{ n: number }>;
