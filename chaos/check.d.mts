export interface Look {
  readonly depth: number;
  readonly lockedMs: number;
  readonly duplicates: number;
}

export function judgeRun(run: {
  readonly looks: readonly Look[];
  readonly tenants: ReadonlySet<string>;
  readonly tickMs: number;
  readonly perSecond: number;
  readonly isCalm: boolean;
}): string[];

export function judgeOutbox(
  rows: readonly { readonly key: string; readonly status: string }[],
  ended: readonly { readonly id: string; readonly kind: string; readonly state: string }[],
  receiver: {
    readonly applied: ReadonlyMap<string, { readonly body: string; readonly times: number }>;
    readonly changed: readonly string[];
  },
): string[];
