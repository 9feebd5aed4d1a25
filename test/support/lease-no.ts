// Lease numbers are random: tests compare how often a job was claimed, which they count.
import { claimsOf } from "../../src/core/job/lease-no.js";

/** Fits the lease number of a job's n-th claim, as the driver reads it or as the library does; 0: of a job that was never claimed. */
export const claimNo = (n: number): never =>
  ({
    asymmetricMatch: (value: unknown) => ["string", "number"].includes(typeof value) && claimsOf(Number(value)) === n,
    toString: () => `the lease number of claim ${n}`,
  }) as never;

/** Another number than this one: the next. */
export const next = (leaseNo: string, by = 1): string => String(Number(leaseNo) + by);
