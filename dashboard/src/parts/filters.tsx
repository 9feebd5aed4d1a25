// Filters as chips and fields; what they say is in the address.
import { useId } from "preact/hooks";
import { go, route, withQuery } from "../shell/route";
import { Icon } from "./icon";

/** One of a few values, or all. */
export function Choice({
  name,
  label,
  values,
  words,
}: {
  name: string;
  label: string;
  values: readonly string[];
  words?: (value: string) => string;
}) {
  const chosen = route.value.query.get(name) ?? "";
  return (
    <nav class="tabs" aria-label={label}>
      {["", ...values].map((value) => (
        <a key={value} href={withQuery({ [name]: value || null })} aria-current={chosen === value ? "true" : undefined}>
          {value === "" ? "All" : (words?.(value) ?? value)}
        </a>
      ))}
    </nav>
  );
}

/** A field whose value becomes a filter with Enter, or when it is left. */
export function FilterField({
  name,
  label,
  suggestions = [],
  wide,
}: {
  name: string;
  label: string;
  suggestions?: readonly string[];
  wide?: boolean;
}) {
  const id = useId();
  const value = route.value.query.get(name) ?? "";
  const apply = (text: string) => {
    if (text.trim() !== value) go(withQuery({ [name]: text.trim() || null }));
  };
  return (
    <span class={wide ? "filter-field wide" : "filter-field"}>
      <input
        class="input"
        aria-label={label}
        placeholder={label}
        autocomplete="off"
        spellcheck={false}
        value={value}
        list={suggestions.length > 0 ? id : undefined}
        onChange={(event) => apply(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Enter" && apply(event.currentTarget.value)}
      />
      {value !== "" && (
        <a class="clear" href={withQuery({ [name]: null })} aria-label={`Take off ${label}`}>
          <Icon name="close" small />
        </a>
      )}
      {suggestions.length > 0 && (
        <datalist id={id}>
          {suggestions.map((suggestion) => (
            <option key={suggestion} value={suggestion} />
          ))}
        </datalist>
      )}
    </span>
  );
}

/** The query of the address, narrowed to the names that an endpoint knows. */
export function apiQuery(names: readonly string[], more: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(more);
  for (const name of [...names, "cursor"])
    for (const value of route.value.query.getAll(name)) if (value !== "") query.append(name, value);
  const text = query.toString();
  return text ? `?${text}` : "";
}
