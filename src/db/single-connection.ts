// One plain connection with one statement at a time, for the heartbeat thread. No answer in time counts as lost.
import pg from "pg";

export interface SingleConnection {
  query<Row>(text: string, values: unknown[]): Promise<Row[]>;
  close(): void;
}

export async function openSingle(
  settings: Record<string, unknown>,
  applicationName: string,
  answerMsMax: number,
): Promise<SingleConnection> {
  const client = new pg.Client({
    ...settings,
    application_name: applicationName,
    connectionTimeoutMillis: answerMsMax,
    query_timeout: answerMsMax,
  } as pg.ClientConfig);
  client.on("error", () => {});
  await client.connect();
  return {
    query: async <Row>(text: string, values: unknown[]) => (await client.query(text, values)).rows as Row[],
    close: () => void client.end().catch(() => {}),
  };
}
