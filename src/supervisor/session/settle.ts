import { setTimeout as sleep } from 'node:timers/promises'
import { crashPoint } from '../../base/crash-point.ts'
import { AppError } from '../../base/errors.ts'
import { sessionMarker } from '../../base/process/marker.ts'
import { sweepMarked, sweepTree } from '../../base/process/sweep.ts'
import { TASK_IS_SPENT } from '../../domain/budget.ts'
import { PAUSED_BY_PERSON } from '../../domain/session-end.ts'
import { openEscalations } from '../../human/escalations.ts'
import type { Store, Tx } from '../../store/store.ts'
import type { Parked, SessionRow } from '../../store/tables.ts'
import { SOON_MS } from './between-turns.ts'
import { eventOf, type LiveSession, type LiveSessionEnding, type SessionDeps } from './context.ts'
import { paused } from './endings.ts'
import { record } from './record.ts'

/**
 * Applies an ending: the row and everything that belongs to the ending, in one transaction. While the agent is still there
 * its marker stays in the row, for a sweep after an accident; the ending is applied again when the agent is gone.
 */
export async function settle(live: LiveSession, deps: SessionDeps, ending: LiveSessionEnding): Promise<void> {
  const isGone = live.agent.session === undefined && !live.agent.hasSurvivors
  if (live.row.state === 'ended') {
    if (isGone) await deps.store.sessions.update(live.id, NO_PROCESS)
    return
  }
  const final = keepUndelivered(live, await goOnIfOpen(live, ending, deps), deps.clock.now())
  crashPoint('settle.before-commit')
  await record(live, deps, {
    events: [...(final.events ?? []), eventOf(live, 'session.ended', endedBody(final), 'daemon')],
    patch: {
      state: 'ended',
      ended_as: final.as,
      status_reason: final.reason === '' ? null : final.reason,
      ended_at: deps.clock.now(),
      resumes_at: final.resumesAt ?? null,
      parked: final.parked ?? null,
      retries: final.retries ?? 0,
      ...final.patch,
      ...(isGone && NO_PROCESS),
    },
    task: final.task,
    escalation: final.escalation,
    reopen: final.reopen,
    withdraw: final.as === 'waiting_input' ? undefined : `the session is over (${final.as})`,
  })
  crashPoint('settle.after-commit')
  live.log.info({ status: final.as, turns: live.row.turns, cost_usd: live.row.cost_usd }, 'session ended')
}

/**
 * An agent may finish a long tool after its account was closed and opened again. The opening gives new times only to sessions that
 * wait already, so this one would wait for the old reset.
 */
async function goOnIfOpen(
  live: LiveSession,
  ending: LiveSessionEnding,
  { accounts, clock }: SessionDeps,
): Promise<LiveSessionEnding> {
  if (!ending.waitsForGate || !(await accounts.admits(live)).open) return ending
  const resumesAt = clock.now() + SOON_MS
  const task = ending.task?.to === 'waiting' ? { ...ending.task, wakesAt: resumesAt } : ending.task
  return { ...ending, resumesAt, task }
}

function endedBody({ as, reason, resumesAt, held, failure }: LiveSessionEnding) {
  return {
    ...{ status: as, reason, ...(resumesAt !== undefined && !held && { resumes_at: resumesAt }) },
    ...(failure !== undefined && { failure }),
  }
}

/** The agent is gone with everything it started: there is nothing left to sweep. */
export const NO_PROCESS = { marker: null, agent_pid: null, agent_started: null }

/**
 * A parked session that failed before the model received the answer keeps waiting: the question is still open. If the answer
 * is in the conversation already and only the login failed, the next answer is sent as a prompt. If the agent has given up the
 * call, the answer is sent as a prompt at once.
 */
function keepUndelivered(live: LiveSession, ending: LiveSessionEnding, now: number): LiveSessionEnding {
  const { parked: stored } = live.row
  const isOnItsWay = live.agent.answer !== undefined || stored?.taken === true
  // The session goes on later: the escalation keeps the answer, which is delivered to the agent then.
  if (isOnItsWay && (ending.as === 'rate_limited' || ending.as === 'paused' || ending.resumesAt !== undefined))
    return { ...ending, parked: stored }
  if (ending.as !== 'error') return ending
  if (live.agent.answer && stored && ending.failure === 'nothing_parked') return answerInWordsNext(stored, ending, now)
  const parked = isOnItsWay ? stored : ending.failure === 'auth' ? live.agent.answeredQuestion : undefined
  if (!parked) return ending
  return {
    ...ending,
    as: 'waiting_input',
    reason: `${ending.reason}\nThe question is still open; answer it again.`,
    parked: live.agent.answeredQuestion === parked ? { ...live.agent.answeredQuestion, taken: true } : parked,
    reopen: parked.number,
    events: [...(ending.events ?? []), eventOf(live, 'session.noted', { text: STILL_OPEN }, 'daemon')],
    task: { to: 'waiting', reason: STILL_OPEN },
  }
}

/** One more try, to which nobody has to agree. */
function answerInWordsNext(parked: Parked, ending: LiveSessionEnding, now: number): LiveSessionEnding {
  const reason = 'the call that waited is gone; the answer is given in words'
  const task = { to: 'waiting', reason, wakesAt: now } as const
  return { ...ending, as: 'paused', reason, resumesAt: now, retries: 1, parked: { ...parked, taken: true }, task }
}

const STILL_OPEN = 'The answer did not reach the model, so the question is open again.'

/** A full disk or a locked file is often free again soon; these waits take about two minutes in all. */
const WAITS_MS = [250, 1_000, 4_000, 15_000, 30_000, 60_000]
const LONGEST_MS = 60_000

interface RetryOptions {
  ending: LiveSessionEnding
  /** Aborted when no time is left: there is one last try, then the error is thrown. */
  signal: AbortSignal
}

/**
 * Settles a session, and retries while the store fails: without its ending the session would show as running. A disk may be
 * full for hours; in that case only the end of the daemon stops the retries.
 */
export async function settleWithRetries(
  live: LiveSession,
  deps: SessionDeps,
  { ending, signal }: RetryOptions,
): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const waitMs = WAITS_MS[tries] ?? LONGEST_MS
    try {
      return await settle(live, deps, ending)
    } catch (error) {
      const code = error instanceof AppError ? error.code : undefined
      const isLast = tries >= WAITS_MS.length && code !== 'store_unusable'
      if (signal.aborted || isLast || code === 'session_taken_over') throw error
      live.log.error({ error }, 'session could not be settled, trying again')
      await sleep(waitMs, undefined, { signal }).catch(() => undefined)
    }
  }
}

/** The reason that is shown for a session that was cut off. */
export const CUT_OFF = 'cut off: the daemon was stopped; it goes on when the daemon is back'

/**
 * The ending of a session that was stopped only because its daemon leaves: it goes on under the next daemon, or stays paused
 * where a person had paused it.
 */
export function cutOffEnding(ending: LiveSessionEnding, live: LiveSession, now: number): LiveSessionEnding {
  if (!live.control.cutOff || ending.as !== 'stopped') return ending
  const { task } = ending
  if (live.control.pausing === 'person') return { ...ending, ...paused('person', live), task }
  const waits = task?.to === 'waiting' ? { ...task, reason: CUT_OFF, wakesAt: now } : task
  return { ...ending, as: 'paused', reason: CUT_OFF, resumesAt: now, task: waits }
}

/**
 * Stops a session that no daemon runs: paused, limited, parked, or left behind by a crash. An agent that outlived its daemon
 * in a terminal is ended first, so that no other agent begins beside it. Open escalations are withdrawn. False when the
 * session was resumed after the row was read. With a reason, a run stops it and no person.
 */
export async function stopWaitingSession(
  row: SessionRow,
  store: Store,
  now: number,
  reason?: string,
): Promise<boolean> {
  const actor = reason === undefined ? 'human' : 'daemon'
  return endWaiting(row, { store, now, as: 'stopped', reason: reason ?? 'stopped by a person', actor })
}

/** Pauses such a session, so that it does not go on by itself. One that is paused already stays as it is. */
export async function pauseWaitingSession(row: SessionRow, store: Store, now: number): Promise<boolean> {
  const reason = `${PAUSED_BY_PERSON}; go on with: pcc resume ${row.id}`
  if (row.ended_as === 'paused' && row.resumes_at === null) {
    await endLeftInTerminal(row, 'pause', store)
    // A higher budget of its task would set it going again.
    if (row.status_reason?.startsWith(TASK_IS_SPENT)) await store.sessions.update(row.id, { status_reason: reason })
    return true
  }
  return endWaiting(row, { store, now, as: 'paused', reason, actor: 'human' })
}

interface WaitingEnd {
  store: Store
  now: number
  as: 'stopped' | 'paused'
  reason: string
  actor: 'human' | 'daemon'
}

async function endWaiting(row: SessionRow, { store, now, as, reason, actor }: WaitingEnd): Promise<boolean> {
  await endLeftInTerminal(row, as === 'stopped' ? 'stop' : 'pause', store)
  return store.transaction(async tx => {
    if (!(await isStillWaiting(row, store, tx))) return false
    await tx.append([{ actor, subject: row.id, kind: 'session.ended', body: { status: as, reason } }])
    const patch = { state: 'ended', ended_as: as, status_reason: reason, ended_at: now, resumes_at: null } as const
    // A paused session keeps an answer that is on its way to it.
    await store.sessions.update(row.id, as === 'stopped' ? { ...patch, parked: null } : patch, tx)
    // Its task no longer waits for what the session waited for.
    const task = row.task_id === null ? undefined : await store.tasks.get(row.task_id, tx)
    if (task?.state === 'waiting' && task.session_id === row.id)
      await store.tasks.swap(task, { reason, wakes_at: null }, tx)
    if (as === 'stopped') await withdraw(row.id, { store, now, reason, tx })
    return true
  })
}

function withdraw(
  id: string,
  { store, now, reason, tx }: Omit<WaitingEnd, 'as' | 'actor'> & { tx: Tx },
): Promise<void> {
  return openEscalations({ store, clock: { now: () => now } }).withdraw(id, reason, tx)
}

/**
 * Ends the processes that a session without a daemon has left in its terminal; the window goes with them. The intent is
 * stored first: a daemon that starts after this one died here does not leave the agent running. Throws if a process
 * survives, because the session is then not stopped. A session that was resumed since its row was read is left alone.
 */
export async function endLeftInTerminal(row: SessionRow, intent: 'stop' | 'pause', store: Store): Promise<void> {
  const { id, options, marker, agent_pid: pid, agent_started: startTime } = row
  if (options.host !== 'tmux' || marker === null) return
  const isOurs = await store.transaction(async tx => {
    if (!(await isStillWaiting(row, store, tx))) return false
    await store.sessions.update(id, { intent }, tx)
    return true
  })
  if (!isOurs) return
  const marked = await sweepMarked(sessionMarker(marker))
  const tree = pid === null || startTime === null ? { left: [] } : await sweepTree({ pid, startTime })
  const left = [...marked.left, ...tree.left]
  if (left.length > 0)
    throw new AppError('session_withstood', { id, pids: left.map(survivor => survivor.pid).join(' ') })
  await store.transaction(async tx => {
    if (await isStillWaiting(row, store, tx)) await store.sessions.update(id, NO_PROCESS, tx)
  })
}

/** Whether a session waits as it did when its row was read: nobody has stopped, paused or resumed it since. */
export async function isStillWaiting(row: SessionRow, store: Store, tx: Tx): Promise<boolean> {
  const current = await store.sessions.get(row.id, tx)
  return current?.state === row.state && current.owner === row.owner && current.ended_at === row.ended_at
}
