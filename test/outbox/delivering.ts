// A channel in a real worker: messages until their end, and a receiver that notes what it is sent.
import {
  type Channel,
  type ChannelOptions,
  type Client,
  createClient,
  createWorker,
  defineChannel,
  fixed,
  type SendContext,
  silentLogger,
  type WorkerOptions,
} from "fairmill";
import type { TestDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";

export type Options = Omit<ChannelOptions<undefined, { text: string }, { text: string }>, "name" | "input">;

export const mail = (options: Options) =>
  defineChannel<{ text: string }>({ name: "mail", retry: { backoff: fixed(0) }, askAfter: 200, ...options });

export const endOf = (client: Client, id: string) =>
  waitUntil(`message ${id} has its end`, async () => {
    const message = await client.outbox.get(id);
    return message && message.endedAt !== null ? message : undefined;
  });

/** A receiver that notes what it is sent. */
export function receiver(answer: (context: SendContext, calls: number) => unknown = () => undefined) {
  const calls: { text: string; key: string; attempt: number }[] = [];
  const send = ({ text }: { text: string }, context: SendContext) => {
    calls.push({ text, key: context.idempotencyKey, attempt: context.attempt });
    return answer(context, calls.length);
  };
  return { calls, send };
}

export function deliveringOn(db: TestDatabase) {
  function startDelivering(channel: Channel<{ text: string }>, options: WorkerOptions = {}) {
    return createWorker({
      databaseUrl: db.url,
      channels: [channel],
      logger: silentLogger,
      grace: "5s",
      ...options,
    }).start();
  }

  /** Publishes one message and delivers it until its end. */
  async function delivered(channel: ReturnType<typeof mail>, options: WorkerOptions = {}) {
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startDelivering(channel, options);
    const { id } = await client.publish(channel, { text: "hi" }, { idempotencyKey: "a", tenant: "acme" });
    const message = await endOf(client, id);
    return { ...message, job: (await client.job(message.jobId!))! };
  }

  return { startDelivering, delivered };
}
