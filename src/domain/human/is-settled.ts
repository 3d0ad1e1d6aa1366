import type { Escalation } from '../escalation.ts'

/** Whether something was said that its sessions are to hear: by somebody, or by a deadline that refused in their place. */
export function isSettled({ state, answered_by }: Pick<Escalation, 'state' | 'answered_by'>): boolean {
  return state === 'answered' || (state === 'denied' && answered_by !== null)
}
