// Does a value contain another? Objects may have more members than were asked for; lists and plain values must be the same.

export function contains(value: unknown, part: unknown): boolean {
  if (typeof part !== "object" || part === null) return Object.is(value, part);
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(part))
    return Array.isArray(value) && value.length === part.length && part.every((each, i) => contains(value[i], each));
  return (
    !Array.isArray(value) &&
    Object.entries(part).every(
      ([name, wanted]) => Object.hasOwn(value, name) && contains(value[name as keyof typeof value], wanted),
    )
  );
}
