export function dice(seed: number): () => number;
export function pick<T>(random: () => number, list: readonly T[]): T;
export function sleep(ms: number, signal?: AbortSignal): Promise<void>;
