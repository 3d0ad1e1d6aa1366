import type { Admission } from '../../agents/limits/gates.ts'
import type { FailureKind } from '../../domain/session.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { Ending, Run } from '../run.ts'
import type { Standing } from './choose-next.ts'

/** What an agent that was handed a task may fail with before it has done a thing: it says nothing of the task. */
const CANNOT_BEGIN = new Set<FailureKind>([
  'auth',
  'billing',
  'agent_missing',
  'agent_crashed',
  'model_not_found',
  'other',
])

/** How its agent stands at the end of a session's life; nothing where no other agent could help. */
export function standingAt(
  ending: Ending,
  run: Run,
  admission: Admission,
  costUsd: number | undefined,
): Standing | undefined {
  if (ending.held || run.withstood || run.stopping !== undefined || run.pausing === 'person') return undefined
  const { handed, host } = run.row.options
  // A person has chosen that terminal, and who is in it.
  if (host !== undefined) return undefined
  if (ending.as === 'error') {
    const isStuck = handed && !run.answered && ending.failure !== undefined && CANNOT_BEGIN.has(ending.failure)
    return isStuck ? { why: 'broken' } : undefined
  }
  if (ending.resumesAt === undefined || ending.task?.to === 'verifying') return undefined
  const spent = run.row.cost_usd - (handed?.cost_usd ?? 0)
  if (costUsd !== undefined && spent >= costUsd) return { why: 'cost', spent }
  if (ending.as === 'rate_limited') return atGate(admission)
  return ending.as === 'paused' && ending.retries ? { why: 'outage', tries: ending.retries } : undefined
}

/** The same for one that waits. */
export function standingOf(row: SessionRow, admission: Admission): Standing | undefined {
  if (row.parked !== null || row.held_at !== null || row.options.host !== undefined) return undefined
  if (!admission.open && admission.why === 'held') return undefined
  if (row.retries > 0) return { why: 'outage', tries: row.retries }
  return atGate(admission)
}

function atGate(admission: Admission): Standing {
  return !admission.open && admission.why === 'limit' ? { why: 'limit', until: admission.until } : { why: 'works' }
}
