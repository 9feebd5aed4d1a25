// The lease number of a job, as next_lease makes it: claims are counted in steps of 2^28, and below that it is random.

const STEP = 2 ** 28;

/** How often the job was claimed, this time included. Of a number from before numbers were random: 1. */
export const claimsOf = (leaseNo: number): number => Math.ceil(leaseNo / STEP);

/** Claims before this one that did not spend their attempt. */
export const unspentOf = (claim: { readonly leaseNo: number; readonly attempt: number }): number =>
  Math.max(0, claimsOf(claim.leaseNo) - claim.attempt);
