import type { Log } from '../../base/log.ts'
import type { AnsweredEscalation } from '../../domain/escalation.ts'
import type { SessionRow } from '../../store/tables.ts'
import { Meter } from '../../tasks/budgets/meter.ts'
import { openRunGuards } from '../guards/run-guards.ts'
import type { Run } from '../run.ts'
import type { Preparation } from './preparation.ts'

/** How a session begins: with a prompt, or with the answer to a call that waits. */
export interface Start {
  prompt?: string
  resume?: { vendorId: string; fork: boolean } | undefined
  answer?: Run['answer']
  /** The parked question that `prompt` answers in words. */
  taken?: Run['taken']
  /** Takes the row before the agent starts; throws when it is not there to be taken. */
  claim?: () => Promise<AnsweredEscalation | undefined>
}

/** A run before its agent is open. */
export function newRun(row: SessionRow, ready: Preparation, start: Start & { log: Log; now: number }): Run {
  const guards = openRunGuards(ready.guards, start.now)
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
    heldEnough: ready.heldEnough,
    guard: guards.before(ready.guard),
    renew: undefined,
    log: start.log,
    calls: new Map(),
    toolCalls: new Map(),
    callWaiters: new Map(),
    hearing: false,
    parking: new Map(),
    answer: start.answer,
    taken: start.taken,
    before: {
      input_tokens: row.input_tokens,
      output_tokens: row.output_tokens,
      cost_usd: row.cost_usd,
      turns: row.turns,
    },
    secrets: ready.secrets,
    mind: ready.mind,
    failover: ready.failover,
    requirements: row.options.requirements,
    proseAnswers: 0,
    attempt: undefined,
    consent: ready.consent,
    quota: ready.quota,
    budgets: ready.budgets,
    budgetsNow: ready.budgetsNow,
    meter: new Meter(row.turns),
    guards,
    warned: new Map(),
    answered: false,
    trying: false,
    compaction: undefined,
    checkpointedAt: start.now,
    withstood: false,
    checkpointEveryMs: ready.checkpointEveryMs,
    begunAt: start.now,
    retryMs: ready.retryMs,
    session: undefined,
    opened: Promise.withResolvers(),
    placed: Promise.withResolvers(),
    stopping: undefined,
    cutOff: false,
    pausing: undefined,
    tripped: undefined,
    over: false,
  }
}
