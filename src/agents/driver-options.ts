/** How a driver starts its agent; the same for all its sessions. */
export interface DriverOptions {
  /** Path of the agent's program; the one that came with us when absent. */
  executable?: string | undefined
  /** Put behind our own lines at the end of the system prompt. */
  appendPrompt?: string | undefined
  /** Takes lines for the log: never values of the environment, never what the agent says. */
  log?: ((line: string) => void) | undefined
  /** How long an ask may take before it counts as refused. */
  askDeadlineMs?: number | undefined
  /** How long a resumed session without a prompt waits for the call that was parked. */
  reofferMs?: number | undefined
  /** How long a warm process waits for its session. */
  warmForMs?: number | undefined
}
