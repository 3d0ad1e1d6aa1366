import { crashPoint } from '../../base/crash-point.ts'
import type { Parked } from '../../store/tables.ts'
import { eventOf } from '../events/agent-event.ts'
import { record } from '../record.ts'
import type { Ending, Parts, Run } from '../run.ts'

/**
 * Applies an ending: the row and everything that belongs to the end, in one transaction. While the agent is still there its
 * marker stays in the row, for a sweep after an accident; the ending is then applied once more when it is gone.
 */
export async function settle(run: Run, parts: Parts, ending: Ending): Promise<void> {
  const gone = run.session === undefined && !run.withstood
  if (run.row.state === 'ended') {
    if (gone) await parts.store.sessions.update(run.id, NO_PROCESS)
    return
  }
  const final = keepUndelivered(run, ending, parts.clock.now())
  crashPoint('settle.before-commit')
  await record(run, parts, {
    events: [...(final.events ?? []), eventOf(run, 'session.ended', endedBody(final), 'daemon')],
    patch: {
      state: 'ended',
      ended_as: final.as,
      status_reason: final.reason === '' ? null : final.reason,
      ended_at: parts.clock.now(),
      resumes_at: final.resumesAt ?? null,
      parked: final.parked ?? null,
      retries: final.retries ?? 0,
      ...final.patch,
      ...(gone && NO_PROCESS),
    },
    task: final.task,
    escalation: final.escalation,
    reopen: final.reopen,
    withdraw: final.as === 'waiting_input' ? undefined : `the session is over (${final.as})`,
  })
  crashPoint('settle.after-commit')
  run.log.info({ status: final.as, turns: run.row.turns, cost_usd: run.row.cost_usd }, 'session ended')
}

function endedBody({ as, reason, resumesAt, held, failure }: Ending) {
  return {
    ...{ status: as, reason, ...(resumesAt !== undefined && !held && { resumes_at: resumesAt }) },
    ...(failure !== undefined && { failure }),
  }
}

/** The agent is gone with everything it started: there is nothing left to sweep. */
const NO_PROCESS = { marker: null, agent_pid: null, agent_started: null }

/**
 * A parked session that failed before the model had heard its answer goes on waiting: the question is still open. An answer
 * that stands in the conversation already, where only the login failed, is given in words the next time; so is one for a call
 * that the agent has given up, and that at once.
 */
function keepUndelivered(run: Run, ending: Ending, now: number): Ending {
  const { parked: row } = run.row
  const isOnItsWay = run.answer !== undefined || row?.taken === true
  // It goes on later: the answer stands in the decision's row and is brought to the agent then.
  if (isOnItsWay && (ending.as === 'rate_limited' || ending.as === 'paused' || ending.resumesAt !== undefined))
    return { ...ending, parked: row }
  if (ending.as !== 'error') return ending
  if (run.answer && row && ending.failure === 'nothing_parked') return inWordsNext(row, ending, now)
  const parked = isOnItsWay ? row : ending.failure === 'auth' ? run.taken : undefined
  if (!parked) return ending
  return {
    ...ending,
    as: 'waiting_input',
    reason: `${ending.reason}\nThe question is still open; answer it again.`,
    parked: run.taken === parked ? { ...run.taken, taken: true } : parked,
    reopen: parked.number,
    events: [...(ending.events ?? []), eventOf(run, 'session.noted', { text: STILL_OPEN }, 'daemon')],
    task: { to: 'waiting', reason: STILL_OPEN },
  }
}

/** A try more, for which nobody has to agree to anything. */
function inWordsNext(parked: Parked, ending: Ending, now: number): Ending {
  const reason = 'the call that waited is gone; the answer is given in words'
  const task = { to: 'waiting', reason, wakesAt: now } as const
  return { ...ending, as: 'paused', reason, resumesAt: now, retries: 1, parked: { ...parked, taken: true }, task }
}

const STILL_OPEN = 'The answer did not reach the model, so the question is open again.'
