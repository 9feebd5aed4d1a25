/** What a creature can feel. A pack shows one creature in all of them. */
export const MOODS = ["happy", "sad", "angry", "in love", "surprised", "sleepy", "proud", "cheeky"] as const;
export type Mood = (typeof MOODS)[number];
