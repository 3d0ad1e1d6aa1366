/** Settings that are stored and that no code reads yet. `npm run docs` writes this file; a test compares the two. */
// biome-ignore format: it is generated
export const UNREAD_SETTINGS: readonly string[] = [
]
