/** What an agent is in the middle of, as far as its events tell. */
export interface Activity {
  /** When it was last heard of, or was seen to do something. */
  aliveAt: number
  /** Calls that have not come back. */
  tools: number
  compacting: boolean
  /** Until when it waits before it calls the vendor once more. */
  retriesAt: number | undefined
  /** A person is asked, or nothing of it runs between two turns. */
  waits: boolean
  /** One of its processes was stopped by a signal. */
  stopped: boolean
  /** Whether its processes can be looked at: a long answer is heard of only when it is whole. */
  sees: boolean
}

/** A tool may be silent for long: a build, a download. Shortening a long conversation takes minutes. */
const TOOL_FACTOR = 12
const COMPACTION_FACTOR = 4
const UNSEEN_FACTOR = 4

/**
 * How long an agent may be neither heard nor seen to work before it counts as hung; undefined where it may for ever. Pure.
 * Whoever works is never hung: `aliveAt` moves with every event and with every look that finds its processes busy.
 */
function patienceMs(
  { tools, compacting, waits, stopped, sees }: Omit<Activity, 'aliveAt' | 'retriesAt'>,
  stallMs: number,
): number | undefined {
  if (waits) return undefined
  // A process that was stopped does nothing, whatever it was in the middle of.
  if (stopped) return stallMs
  if (compacting) return stallMs * COMPACTION_FACTOR
  if (tools > 0) return stallMs * TOOL_FACTOR
  return sees ? stallMs : stallMs * UNSEEN_FACTOR
}

/** Whether it hangs now. */
export function isHung(activity: Activity, now: number, stallMs: number): boolean {
  const patience = patienceMs(activity, stallMs)
  if (patience === undefined) return false
  const since = Math.max(activity.aliveAt, activity.retriesAt ?? 0)
  return now - since >= patience
}
