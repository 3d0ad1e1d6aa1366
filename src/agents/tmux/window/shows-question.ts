import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentWindow } from './agent-window.ts'

const LOOK_MS = 400

interface Showing {
  /** A call was put to the person at the terminal. */
  asksPerson(): boolean
  /** How long a dialog may stand until our hook has answered it. */
  dialogMs: number
}

/** Before a call the agent shows its own dialog for a moment, until our hook has answered it: only one that stays asks a person. */
export async function showsQuestion(
  window: Pick<AgentWindow, 'state'>,
  { asksPerson, dialogMs }: Showing,
): Promise<boolean> {
  const until = performance.now() + dialogMs
  while (!asksPerson() && window.state()?.status === 'waiting') {
    if (performance.now() > until) return true
    await sleep(LOOK_MS)
  }
  return asksPerson()
}
