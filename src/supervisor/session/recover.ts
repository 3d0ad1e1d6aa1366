import { crashPoint } from '../../base/crash-point.ts'
import { PAUSED_BY_PERSON } from '../../domain/session-end.ts'
import { openEscalations } from '../../human/escalations.ts'
import type { Tx } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { SupervisorContext } from '../context.ts'
import { errorRow } from './endings.ts'
import { terminalNote } from './terminal.ts'

/** A session that is recovered this often without hearing from the model may be what ends the daemon. */
const MOST_RECOVERIES = 5

export interface RecoveryCounts {
  /** Sessions that go on by themselves, where the person agreed to that. */
  goesOn: number
  /** Sessions that wait for a person. */
  waits: number
}

/**
 * Takes over the sessions of a daemon that is gone: each one that it had not settled gets an ending in its log, once, and a
 * time at which it goes on, which is now. Its task begins a new attempt, so that the holder of the old one can report nothing
 * any more. Nothing is started here: the waker goes by the times in the rows.
 */
export async function recover(stuck: ReadonlySet<string>, supervisor: SupervisorContext): Promise<RecoveryCounts> {
  const { store, clock } = supervisor.deps
  const rows = (await store.sessions.list({ only: 'live' })).filter(
    ({ owner }) => ![null, supervisor.bootId].includes(owner),
  )
  const now = clock.now()
  const counts = { goesOn: 0, waits: 0 }
  for (const [position, row] of rows.sort(byTurn).entries()) {
    const problem = stuck.has(row.id) ? STUCK : row.recoveries >= MOST_RECOVERIES ? TOO_OFTEN : undefined
    const goesOn = await recoverSession(row, { problem, at: now + position }, supervisor)
    counts[goesOn ? 'goesOn' : 'waits'] += 1
  }
  return counts
}

const STUCK = 'a process of its agent could not be ended'
const TOO_OFTEN = `the daemon died ${MOST_RECOVERIES} times in a row while it ran`

/** Sessions that had a slot come first; the others follow by priority and age. */
function byTurn(a: SessionRow, b: SessionRow): number {
  const inLine = ({ state }: SessionRow) => (state === 'queued' ? 1 : 0)
  return inLine(a) - inLine(b) || b.priority - a.priority || a.created_at - b.created_at
}

interface Recovery {
  /** Why the session cannot go on by itself. */
  problem: string | undefined
  at: number
}

async function recoverSession(
  row: SessionRow,
  { problem, at }: Recovery,
  { deps }: SupervisorContext,
): Promise<boolean> {
  const { store } = deps
  const [last] = await store.events({ subject: row.id, tail: 1 })
  const end = recoveryEnd(row, problem && `${problem}${await terminalNote(row)}`)
  const resumes_at = end.goesOn ? at : null
  await store.transaction(async tx => {
    const body = { status: end.status, reason: end.reason, ...(resumes_at !== null && { resumes_at }) }
    await tx.append([{ actor: 'daemon', subject: row.id, kind: 'session.ended', body }])
    await store.sessions.update(
      row.id,
      {
        state: 'ended',
        ended_as: end.status,
        status_reason: end.reason,
        ended_at: last?.time ?? row.created_at,
        owner: null,
        resumes_at,
        ...(end.status === 'stopped' && { parked: null }),
        recoveries: row.recoveries + 1,
      },
      tx,
    )
    await releaseTask(row, { reason: end.reason, resumes_at, tx }, deps)
    crashPoint('recover.before-commit')
    if (end.status === 'waiting_input') return
    // A question at a terminal is asked again when the session goes on.
    await openEscalations(deps).withdraw(row.id, 'the daemon ended while it was asked', tx)
    if (problem !== undefined && end.status === 'paused') {
      await openEscalations(deps).record(errorRow({ kind: 'other', message: problem }, row, end.reason), tx)
    }
  })
  crashPoint('recover.after-commit')
  return resumes_at !== null
}

interface RecoveryEnd {
  status: 'waiting_input' | 'stopped' | 'paused'
  reason: string
  goesOn: boolean
}

/**
 * The ending of a recovered session. A person's stop or pause is carried out, and a problem holds the session whatever else it
 * waits for. A parked question is open again, or its answer is on its way: `deliverAnswers` delivers it, or the person who
 * resumes a held session.
 */
function recoveryEnd({ id, parked, intent }: SessionRow, problem: string | undefined): RecoveryEnd {
  if (intent === 'stop') return { status: 'stopped', reason: 'stopped by a person', goesOn: false }
  const byPerson = intent === 'pause' ? `${PAUSED_BY_PERSON}; go on with: pcc resume ${id}` : undefined
  const byProblem = problem === undefined ? undefined : `interrupted: ${problem}; go on with: pcc resume ${id}`
  const held = byProblem ?? byPerson
  if (parked !== null && held === undefined) return { status: 'waiting_input', reason: STILL_OPEN, goesOn: false }
  return { status: 'paused', reason: held ?? INTERRUPTED, goesOn: held === undefined }
}

const STILL_OPEN = 'interrupted; the question is still open'

/** The reason that is shown for a session whose daemon ended. */
export const INTERRUPTED = 'interrupted: the daemon ended while it ran'

interface ReleasedTask {
  reason: string
  resumes_at: number | null
  tx: Tx
}

async function releaseTask(
  { id }: SessionRow,
  { reason, resumes_at, tx }: ReleasedTask,
  { store, tasks }: SupervisorContext['deps'],
) {
  const task = await store.tasks.atWork(id, tx)
  if (task?.state !== 'running') return
  const wakesAt = resumes_at ?? undefined
  await tasks.transition(task.id, { to: 'waiting', reason, wakesAt, anew: true }, tx)
}
