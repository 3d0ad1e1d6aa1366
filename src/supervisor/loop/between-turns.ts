import { halted } from '../guards/halted.ts'
import type { Desk, Ending } from '../run.ts'
import { paused, stopped } from './endings.ts'
import { waitAtGate } from './gate-wait.ts'

/**
 * What was asked of the session since its last turn ended. An agent that stands between two prompts cannot be told to stop,
 * so it is looked at here, right before the next one: the caller awaits nothing in between.
 */
export function betweenTurns({ run, parts }: Desk): Ending | Promise<Ending> | undefined {
  if (run.stopping !== undefined) return stopped(run.stopping)
  if (run.pausing === 'person') return paused('person', run)
  if (run.tripped) return halted(run, run.tripped)
  if (run.pausing === 'gate') return parts.accounts.admits(run).then(admission => waitAtGate(admission, { run, parts }))
  return undefined
}
