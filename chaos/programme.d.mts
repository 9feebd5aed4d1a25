export function runProgramme(options: {
  readonly seconds: number;
  readonly seed: number;
  readonly faults: readonly string[];
  readonly jobsPerSecond: number;
  readonly say?: (text: string) => void;
  readonly sabotage?: string;
  readonly signal?: AbortSignal;
}): Promise<{
  readonly figures: {
    readonly jobs: number;
    readonly acknowledged: number;
    readonly messages: number;
    readonly ticks: number;
    readonly looks: number;
    readonly faults: Readonly<Record<string, number>>;
  };
  readonly problems: readonly string[];
}>;
