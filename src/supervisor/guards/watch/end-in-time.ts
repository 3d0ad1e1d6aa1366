import { endAgent } from '../../end-agent.ts'
import type { Desk } from '../../run.ts'

export interface Ended extends Desk {
  /** Resolves when its session has ended. */
  gone: PromiseWithResolvers<void>
}

/** Interrupts an agent, and closes it where it does not end its turn for that. Nobody waits for it: others are looked at. */
export function endInTime({ run, gone }: Ended): void {
  endAgent(run, gone.promise).catch(error => run.log.warn({ error }, 'could not be ended'))
}
