import { crashPoint } from '../../base/crash-point.ts'
import { openEscalations } from '../../human/escalations.ts'
import type { Tx } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { SupervisorContext } from '../context.ts'
import { errorRow } from './endings.ts'
import { terminalNote } from './terminal.ts'

/** A session that is taken up so often and never comes to hear the model may be what ends the daemon. */
const MOST_RECOVERIES = 5

export interface RecoveryCounts {
  /** Sessions that go on by themselves, where the person agreed to that. */
  goesOn: number
  /** Sessions that wait for a person. */
  waits: number
}

/**
 * Takes away from a daemon that is gone what it held: every session it had not settled gets an end in its log, once, and a
 * time at which it goes on, which is now; its task begins a new attempt, so that whoever held the old one can report nothing
 * any more. Nothing is started here: the times stand in the rows, and the waker goes by them.
 */
export async function recover(stuck: ReadonlySet<string>, supervisor: SupervisorContext): Promise<RecoveryCounts> {
  const { store, clock } = supervisor.deps
  const rows = (await store.sessions.list()).filter(
    row => row.state !== 'ended' && ![null, supervisor.bootId].includes(row.owner),
  )
  const now = clock.now()
  const counted = { goesOn: 0, waits: 0 }
  for (const [place, row] of rows.sort(byTurn).entries()) {
    const problem = stuck.has(row.id) ? STUCK : row.recoveries >= MOST_RECOVERIES ? TOO_OFTEN : undefined
    const goesOn = await recoverSession(row, { problem, at: now + place }, supervisor)
    counted[goesOn ? 'goesOn' : 'waits'] += 1
  }
  return counted
}

const STUCK = 'a process of its agent could not be ended'
const TOO_OFTEN = `the daemon died ${MOST_RECOVERIES} times in a row while it ran`

/** What had a place before has it again; then by priority and age, as they stood in line. */
function byTurn(a: SessionRow, b: SessionRow): number {
  const inLine = ({ state }: SessionRow) => (state === 'queued' ? 1 : 0)
  return inLine(a) - inLine(b) || b.priority - a.priority || a.created_at - b.created_at
}

interface Recovery {
  /** Why it cannot go on by itself. */
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
    // What was asked at a terminal is asked again when the session goes on.
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
 * What a person has asked for is done, and a problem holds whatever else waits. A question that was parked before is open
 * again, or its answer is on its way: `deliverAnswers` sees to that, and where the session is held, whoever makes it go on.
 */
function recoveryEnd({ id, parked, intent }: SessionRow, problem: string | undefined): RecoveryEnd {
  if (intent === 'stop') return { status: 'stopped', reason: 'stopped by a person', goesOn: false }
  const byPerson = intent === 'pause' ? `paused by a person; go on with: pcc resume ${id}` : undefined
  const byProblem = problem === undefined ? undefined : `interrupted: ${problem}; go on with: pcc resume ${id}`
  const held = byProblem ?? byPerson
  if (parked !== null && held === undefined) return { status: 'waiting_input', reason: STILL_OPEN, goesOn: false }
  return { status: 'paused', reason: held ?? INTERRUPTED, goesOn: held === undefined }
}

const STILL_OPEN = 'interrupted; the question is still open'

/** How a session that was cut off by its daemon's end is told. */
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
