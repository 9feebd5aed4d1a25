export const GZIPPED_BYTES_MAX: number;
export function ensureDashboard(): void;
export function dashboardSize(folder?: string): { files: { name: string; bytes: number }[]; total: number };
