// Where a supervisor answers probes: a port, or a host and a port.
import { UsageError } from "../../cli/failure.js";

export interface HealthAddress {
  readonly host: string;
  readonly port: number;
}

const PORT_MAX = 65_535;

export function addressOf(text: string): HealthAddress {
  const [, bracketed, plain, digits] = /^(?:(?:\[([^\]]+)\]|([^:[\]]+)):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > PORT_MAX)
    throw new UsageError(`--listen: ${JSON.stringify(text)} is not an address. Write 7421, 0.0.0.0:7421 or [::]:7421.`);
  return { host: bracketed ?? plain ?? "127.0.0.1", port };
}
