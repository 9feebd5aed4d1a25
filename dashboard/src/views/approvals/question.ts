/** Where the job said a sentence, it is the question; its other members are shown below. */
export function splitQuestion(question: unknown): readonly [string | null, unknown] {
  if (typeof question === "string") return [question, null];
  if (typeof question === "object" && question !== null && !Array.isArray(question)) {
    const { question: text, message, ...rest } = question as Record<string, unknown>;
    const words = typeof text === "string" ? text : typeof message === "string" ? message : null;
    if (words !== null) return [words, Object.keys(rest).length > 0 ? rest : null];
  }
  return [null, question];
}
