// News inside a process, by topic: the parts that know tell, the parts that care listen, and neither knows the other. Listeners are called at once and
// in the order in which they were added.

export class Bus<News extends object> {
  readonly #listeners: { [Topic in keyof News]?: ((news: News[Topic]) => void)[] } = {};

  /** Calls `listener` with every news of the topic from now on; the returned function ends that. */
  on<Topic extends keyof News>(topic: Topic, listener: (news: News[Topic]) => void): () => void {
    this.#listeners[topic] = [...(this.#listeners[topic] ?? []), listener];
    return () => {
      this.#listeners[topic] = this.#listeners[topic]?.filter((other) => other !== listener);
    };
  }

  tell<Topic extends keyof News>(topic: Topic, news: News[Topic]): void {
    const listeners = this.#listeners[topic];
    if (listeners) for (const listener of listeners) listener(news);
  }
}
