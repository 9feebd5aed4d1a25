/** A name as one part of an address. Half of a surrogate pair cannot be encoded: it becomes the replacement character. */
export const segment = (name: string): string => encodeURIComponent(name.toWellFormed());
