/** Agents that anybody may want at once; each takes some 200 MB. */
export const MOST_AT_ONCE = 64
