import type { Log } from '../../base/log.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { Run } from '../run.ts'
import type { Preparation } from './prepare.ts'

/** How a session begins: with a prompt, or with the answer to a call that waits. */
export interface Start {
  prompt?: string
  resume?: { vendorId: string; fork: boolean } | undefined
  answer?: Run['answer']
  /** Written to the row before the agent starts. */
  first?: Partial<SessionRow>
}

/** A run before its agent is open. */
export function newRun(row: SessionRow, ready: Preparation, start: Start & { log: Log }): Run {
  return {
    id: row.id,
    row,
    driver: ready.driver,
    open: {
      ...ready.open,
      id: row.id,
      prompt: start.prompt,
      resume: start.resume,
      marker: row.marker ?? undefined,
    },
    policy: ready.policy,
    log: start.log,
    calls: new Map(),
    callWaiters: new Map(),
    parking: new Map(),
    answer: start.answer,
    limit: undefined,
    session: undefined,
    opened: Promise.withResolvers(),
    stopping: undefined,
    over: false,
  }
}
