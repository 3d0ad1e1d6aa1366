/** How far the work of a session is on its way to done. It stands in the session's row, so that a restart knows it. */
export interface LandingNote {
  /** Verifications so far: the number of the last one. */
  verified: number
  /** How often its conversation got a failed verification back. */
  failed: number
  /** The same of conflicts with what others landed meanwhile. */
  conflicts: number
  /** What its agent is told when it goes on; gone once the model has answered to it. */
  told?: string | undefined
}

/** Of a session whose work nobody has looked at. */
export const NOTHING_LANDED: LandingNote = { verified: 0, failed: 0, conflicts: 0 }
