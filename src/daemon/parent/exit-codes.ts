/** What the daemon's exit code says to whoever keeps it running; the parent's script has the same numbers. */
export const EXIT = {
  /** Stopped because it was asked to. */
  clean: 0,
  /** Something went wrong inside it: start it again. */
  failed: 70,
  /** Another daemon serves this data directory: there is nothing to keep running. */
  taken: 75,
} as const
