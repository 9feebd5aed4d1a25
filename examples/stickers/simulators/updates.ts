// Updates as Telegram brings them: a user writes, or has paid.
let lastUpdate = 0;

/** Numbers grow, as Telegram's do; `first` begins behind those of an earlier run. */
export function startUpdatesAt(first: number): void {
  lastUpdate = first;
}

export interface Update {
  readonly update_id: number;
  readonly message: object;
}

const messageOf = (user: number, content: object): Update => ({
  update_id: ++lastUpdate,
  message: {
    message_id: lastUpdate,
    date: Math.floor(Date.now() / 1_000),
    chat: { id: user, type: "private", first_name: `User ${user}` },
    from: { id: user, is_bot: false, first_name: `User ${user}` },
    ...content,
  },
});

export const userSays = (user: number, text: string): Update => {
  const command = /^\/\w+/.exec(text)?.[0];
  const entities = command ? [{ type: "bot_command", offset: 0, length: command.length }] : undefined;
  return messageOf(user, { text, ...(entities && { entities }) });
};

export const userPaid = (user: number): Update =>
  messageOf(user, {
    successful_payment: {
      currency: "XTR",
      total_amount: 50,
      invoice_payload: "ten stickers",
      telegram_payment_charge_id: `charge-${lastUpdate + 1}`,
      provider_payment_charge_id: `provider-${lastUpdate + 1}`,
    },
  });
